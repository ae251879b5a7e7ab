// Your notifications, newest first; live. Operators can send some.
import { api, parse, useMay, useSession } from "../api.js";
import { attempt, Dialog } from "../components/dialog.js";
import { Area, Check, Field, SubmitFoot, useSubmit } from "../components/form.js";
import { Empty, Loading, Page, Pager, Trouble } from "../components/page.js";
import { Status } from "../components/status.js";
import { Table } from "../components/table.js";
import { toast } from "../components/toasts.js";
import { Inline, Json } from "../components/value.js";
import { usePoll } from "../live.js";
import { Link, to, useLocation } from "../router.js";
import { Time } from "../times.js";
import { html, keepFocus, toFirstWrong, useState } from "../ui.js";

const CODE = 'bell.notify(user_id, {"text": "Your report is ready."})\nbell.broadcast({"text": "The shop closes at six."})';

export function Notifications() {
  const { query } = useLocation();
  const unread = query.get("unread") === "true";
  const nobody = useSession().user_id === null;
  const asked = { limit: 50, before: query.get("before"), unread: unread ? "true" : null };
  const { data, problem, reload } = usePoll(nobody ? null : "/notifications", asked);
  const [composing, compose] = useState(false);
  const may = useMay("operate");
  const actions = html`
    <${Link} class="button" to=${to(["notifications"], { unread: unread ? "" : "true" })} aria-current=${unread ? "true" : undefined}>${unread ? "Show all" : "Only unread"}<//>
    ${may && html`<button type="button" onClick=${() => compose(true)}>Send notification</button>`}
  `;
  return html`
    <${Page} title="Notifications" lead="Your notifications; others see their own." actions=${actions}>
      ${nobody && html`<${Empty} code="workbell tokens create --user 7">Your token belongs to no user, so it gets no notifications. Create one that does:<//>`}
      <${Trouble} problem=${problem} />
      ${!nobody && !data && !problem && html`<${Loading} />`}
      ${data?.items.length === 0 && html`<${Empty} code=${CODE}>${unread ? "You have read everything." : "There are no notifications yet. From your code:"}<//>`}
      ${data && data.items.length > 0 && html`<${Told} items=${data.items} reload=${reload} />`}
      <${Pager} next=${data?.next} />
      ${composing && html`<${NewNotification} close=${() => compose(false)} reload=${reload} />`}
    <//>
  `;
}

/** @param {{ items: Api.Notification[], reload: Reload }} props */
function Told({ items, reload }) {
  /** @param {Api.Body<"POST", "/notifications/read">} body */
  const mark = async (body) => {
    await attempt(async () => {
      await api.post("/notifications/read", body);
      await reload();
    });
    keepFocus();
  };
  const unread = items.some((one) => !one.read);
  return html`
    <div class="bulk">${unread && html`<button type="button" class="small" onClick=${() => mark({ all: true })}>Mark all as read</button>`}</div>
    <${Table} caption="Notifications" rows=${items} rowClass=${(one) => (one.read ? "read" : "")} columns=${/** @type {Column<Api.Notification>[]} */ ([
      { name: "State", cell: (one) => html`<${Status} of=${one.read ? "ok" : "queued"} says=${one.read ? "read" : "unread"} />` },
      { name: "What", classes: "wide", cell: (one) => html`<${What} data=${one.data} />` },
      { name: "For", cell: (one) => (one.user_id === null ? "everybody" : "you") },
      { name: "When", classes: "when", cell: (one) => html`<${Time} at=${one.created_at} />` },
      { name: "Actions", hidden: true, classes: "number", cell: (one) => !one.read && html`<button type="button" class="small" onClick=${() => mark({ ids: [one.id] })}>Read</button>` },
    ])} />
  `;
}

/**
 * The words that people usually mean; all of it behind a click.
 * @param {{ data: Api.Notification["data"] }} props
 */
function What({ data }) {
  const said = /** @type {{ text?: unknown, title?: unknown, message?: unknown } | null} */ (data);
  const words = typeof data === "string" ? data : (said?.text ?? said?.title ?? said?.message);
  if (typeof words !== "string") return html`<${Inline} value=${data} />`;
  const hasMore = typeof data === "object" && Object.keys(data ?? {}).length > 1;
  return html`<span class="notification-text">${words}</span>${hasMore && html`<details><summary>All of it</summary><${Json} value=${data} name="The notification" /></details>`}`;
}

// Tell one person something, or everybody of the tenant.

/** @param {{ close: () => void, reload: Reload }} props */
function NewNotification({ close, reload }) {
  const [user, setUser] = useState("");
  const [everybody, setEverybody] = useState(false);
  const [text, setText] = useState('{"text": "Hello"}');
  const [wrong, setWrong] = useState(/** @type {Wrong} */ ({}));
  const { send, busy, problem } = useSubmit(async (event) => {
    /** @type {Wrong} */
    const found = {};
    let data = null;
    if (!everybody && !user.trim()) found.user = "The recipient: a number, or a text such as a UUID.";
    try {
      data = parse(text);
    } catch (error) {
      found.text = `This is not JSON: ${error.message}`;
    }
    setWrong(found);
    if (Object.keys(found).length) return toFirstWrong(event.target);
    const body = everybody ? { everybody, data } : { user_id: user.trim(), data };
    await api.post("/notifications", body);
    toast("Sent.");
    close();
    return reload();
  });
  return html`
    <${Dialog} title="Send notification" onClose=${close}>
      <form class="form" onSubmit=${send} noValidate>
        <${Check} label="Everybody of this tenant" checked=${everybody} onChange=${setEverybody} />
        ${!everybody && html`<${Field} label="User id" value=${user} onChange=${setUser} wrong=${wrong.user} hint="The user id of their token." />`}
        <${Area} label="What" value=${text} onChange=${setText} wrong=${wrong.text} hint="JSON; a field “text” is shown first." rows=${4} />
        <${SubmitFoot} label="Send" busy=${busy} problem=${problem} />
      </form>
    <//>
  `;
}
