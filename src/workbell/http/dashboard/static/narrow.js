// Whether the screen is narrow, as style/3-frame.css means it: then the navigation is behind a button.
import { shared } from "./store.js";

const query = window.matchMedia("(max-width: 56rem)");
const narrow = shared(query.matches);
query.addEventListener("change", () => narrow.set(query.matches));

export const useNarrow = () => narrow.use();
