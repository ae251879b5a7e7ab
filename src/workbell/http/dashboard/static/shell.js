// Texts for a terminal, quoted so that no name and no payload can become a command of its own.

const PLAIN = /^[A-Za-z0-9_./:@%+,-]+$/;
const LONGEST = 100_000; // letters of one word: Linux takes 128 KiB

/**
 * One word for a POSIX shell: within single quotes nothing has a meaning but the quote itself.
 * @param {string} word
 */
const quoted = (word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/**
 * Whether a text is too long for one word of a command line.
 * @param {string} word
 */
export const isTooLong = (word) => new TextEncoder().encode(word).length > LONGEST;

/**
 * A command from its words; `name` comes last, behind `--` if it could be taken for an option.
 * @param {string[]} words
 * @param {string} name
 */
export function commandText(words, name) {
  const last = name.startsWith("-") ? ["--", name] : [name];
  return ["workbell", ...words, ...last].map(quoted).join(" ");
}

/**
 * A request with curl, which finds the token in the environment. `body` is JSON on one line, or null for a GET.
 * @param {string} address
 * @param {string | null} [body]
 */
export function curlText(address, body = null) {
  const begin = `curl ${quoted(address)} \\\n  -H "Authorization: Bearer $WORKBELL_TOKEN"`;
  if (body === null) return begin;
  const posted = `${begin} \\\n  -H 'Content-Type: application/json'`;
  // A long one is read from standard input. It is one line of JSON, so it never is the line that ends it.
  if (isTooLong(body)) return `${posted} \\\n  --data-binary @- <<'END_OF_INPUT'\n${body}\nEND_OF_INPUT`;
  return `${posted} \\\n  --data-raw ${quoted(body)}`;
}
