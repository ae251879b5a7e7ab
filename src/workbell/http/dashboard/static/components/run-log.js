// What the handler of a run logged, as it comes. It follows the end, until somebody scrolls up to read.
import { api, part } from "../api.js";
import { zone } from "../preferences.js";
import { timeText } from "../times.js";
import { html, useEffect, useRef, useState } from "../ui.js";
import { attempt } from "./dialog.js";
import { Choice, Field } from "./form.js";
import { Empty, Section } from "./page.js";

const PAGE = 1000; // lines, as many as the topic begins with
const NEAR = 24; // pixels that count as being at the end

/** @param {{ run: Api.Run, logs: Api.LogLine[] }} props */
export function RunLog({ run, logs }) {
  const choice = zone.use();
  const [least, setLeast] = useState("");
  const [text, setText] = useState("");
  const [most, setMost] = useState(PAGE);
  const [older, setOlder] = useState(/** @type {Api.LogLine[]} */ ([]));
  // After a new connection the log may begin later: then what was before its old beginning does not join on to it.
  useEffect(() => setOlder([]), [logs[0] && `${logs[0].attempt}:${logs[0].line}`]);
  const all = older.length ? [...older, ...logs] : logs;
  const wanted = text.toLowerCase();
  const matching = least || wanted ? all.filter((line) => !isBelow(line, least) && line.message.toLowerCase().includes(wanted)) : all;
  const shown = matching.slice(-most);
  const { box, ends, onScroll, follow, hold } = useEnd(shown[shown.length - 1], shown[0]);

  const before = matching.length > shown.length || (all.length >= PAGE && !isFirst(all[0]));
  const showOlder = () =>
    attempt(async () => {
      hold();
      if (matching.length <= shown.length) setOlder([...(await linesBefore(run.id, all[0])), ...older]);
      setMost(most + PAGE);
    });

  if (!all.length) {
    const yet = run.finished_at === null ? " yet" : "";
    return html`<${Section} title="Log">
      <${Empty} code=${'ctx.logger.info("as far as here")'}>It has logged nothing${yet}. A handler that takes a context logs with:<//>
    <//>`;
  }
  return html`
    <${Section} title="Log" class="log-card">
      <div class="log-filter">
        <${Choice} label="Level" value=${least} onChange=${setLeast} options=${[["", "every level"], ["WARNING", "warnings and worse"], ["ERROR", "errors and worse"]]} />
        <${Field} label="Text" type="search" value=${text} onChange=${setText} />
        <p class="faint" role="status">${least || wanted ? `${matching.length.toLocaleString("en")} of ${all.length.toLocaleString("en")} lines` : ""}</p>
      </div>
      <div class="log-frame">
        <div ref=${box} class="log ${run.attempt > 1 ? "log-attempts" : ""}" tabindex="0" role="region" aria-label="Log" onScroll=${onScroll}>
          ${before && html`<button type="button" class="small" onClick=${showOlder}>Older lines</button>`}
          <ol>${drawnLines(shown, choice)}</ol>
        </div>
        ${!ends && html`<button type="button" class="small log-newest" onClick=${follow}>Newest ↓</button>`}
      </div>
    <//>
  `;
}

/**
 * Keeps the box at its end while lines come, unless it was scrolled up; and where it was, when older ones come.
 * @param {Api.LogLine | undefined} lastLine
 * @param {Api.LogLine | undefined} firstLine
 */
function useEnd(lastLine, firstLine) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const held = useRef(/** @type {number | null} */ (null)); // the distance from the end that is to be kept
  const [ends, setEnds] = useState(true);
  const toEnd = () => box.current && (box.current.scrollTop = box.current.scrollHeight);
  useEffect(() => {
    if (held.current !== null && box.current) box.current.scrollTop = box.current.scrollHeight - held.current;
    held.current = null;
  }, [firstLine]);
  useEffect(() => {
    if (ends) toEnd();
  }, [lastLine]);
  /** @param {Event & { currentTarget: Element }} event */
  const onScroll = (event) => {
    const { scrollHeight, scrollTop, clientHeight } = event.currentTarget; // the box may be gone by now
    setEnds(scrollHeight - scrollTop - clientHeight < NEAR);
  };
  const follow = () => {
    toEnd();
    setEnds(true);
  };
  const hold = () => {
    if (box.current) held.current = box.current.scrollHeight - box.current.scrollTop;
  };
  return { box, ends, onScroll, follow, hold };
}

/** @param {Api.LogLine} line */
const isFirst = (line) => line.attempt === 1 && line.line === 0;
/**
 * @param {Api.LogLine} line
 * @param {Api.LogLine} other
 */
const isBefore = (line, other) => line.attempt < other.attempt || (line.attempt === other.attempt && line.line < other.line);

/**
 * The rest of the lines of the attempt of a line, or those of an attempt before; oldest first.
 * @param {string} id
 * @param {Api.LogLine} first
 */
async function linesBefore(id, first) {
  for (let number = first.line > 0 ? first.attempt : first.attempt - 1; number > 0; number--) {
    /** @type {Api.LogLine[]} */
    const found = [];
    /** @type {string | null | undefined} */
    let after = `${number - 1}:999999999`; // behind all that came before this attempt
    while (after) {
      /** @type {Api.Answer<"GET", `/runs/${string}/logs`>} */
      const page = await api.get(`/runs/${part(id)}/logs`, { after, limit: PAGE });
      const lines = page.items.filter((line) => isBefore(line, first));
      found.push(...lines);
      after = lines.length === page.items.length ? page.next : null;
    }
    if (found.length) return found;
  }
  return [];
}

// One line of a log. A line never changes, so it is made once and then left alone, however many others come.

const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];
/** @param {string} level */
const rankOf = (level) => Math.max(0, LEVELS.indexOf(level.toUpperCase())); // a level of somebody's own is no warning

/**
 * Whether a line is of a lower level than the one that is asked for.
 * @param {Api.LogLine} line
 * @param {string} least
 */
const isBelow = (line, least) => least !== "" && rankOf(line.level) < rankOf(least);

let made = new WeakMap();
let clock = new Map(); // the text of each second: many lines share one, and to make it is the dearest part of a line
let madeFor = "";

/**
 * The lines as items of a list: the same items each time, which Preact passes over. `zone` is that of their times.
 * @param {Api.LogLine[]} lines
 * @param {string} zone
 */
function drawnLines(lines, zone) {
  const meant = `${zone} ${new Date().toDateString()}`; // the day is shown only if it is not today
  if (meant !== madeFor) {
    made = new WeakMap();
    clock = new Map();
    madeFor = meant;
  }
  return lines.map((line) => {
    if (!made.has(line)) made.set(line, draw(line, zone));
    return made.get(line);
  });
}

/**
 * @param {Api.LogLine} logline
 * @param {string} zone
 */
function draw({ attempt, line, at, level, message }, zone) {
  const tone = LEVELS.includes(level.toUpperCase()) ? level.toLowerCase() : "info";
  return html`<li key=${`${attempt}:${line}`} class="log-line log-${tone}">
    <time class="log-time" dateTime=${at} title=${at}>${secondText(at, zone)}</time>
    <span class="log-attempt"><span class="visually-hidden">attempt </span>#${attempt}</span>
    <span class="log-level">${level}</span>
    <span class="log-message">${message}</span>
  </li>`;
}

/**
 * @param {string} at
 * @param {string} zone
 */
function secondText(at, zone) {
  const second = at.slice(0, 19);
  if (!clock.has(second)) clock.set(second, timeText(at, zone));
  return clock.get(second);
}
