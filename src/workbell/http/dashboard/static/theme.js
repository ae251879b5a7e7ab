// Runs before the first paint, so that a page in the dark does not flash. The switch itself is in preferences.js.

try {
  const theme = localStorage.getItem("workbell-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // A browser may refuse to keep anything; then the system's theme it is.
}
