// Names for the answers of the API, and what the parts of the dashboard hand to each other.
//
// An answer is named by the path that it is the answer of: its fields are those of the generated api.d.ts, and the names of
// the API's schemas are used nowhere.
import type { Operation, Operations } from "./api.js";
import type { Problem as ProblemClass } from "../static/api.js";
import type { Ref as AnyRef } from "../static/vendor/hooks.js";
import type { Child as AnyChild } from "../static/vendor/preact.js";

type Base = "/api/v1";
type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
/** A path of the API's document with any text for its parameters. */
type Filled<Text> = Text extends `${infer Before}{${string}}${infer Behind}` ? `${Before}${string}${Filled<Behind>}` : Text;
type Below<Of extends Method, Name> = Name extends `${Of} ${Base}${infer Path}` ? Filled<Path> : never;
type Found<Of extends Method, Path extends string> = Operation<`${Of} ${Base}${Path}`>;

declare global {
  namespace Api {
    /** The paths below /api/v1 that a method is there for. */
    type Paths<Of extends Method> = Below<Of, keyof Operations>;
    type Answer<Of extends Method, Path extends string> = Found<Of, Path>["answer"];
    type Body<Of extends Method, Path extends string> = Found<Of, Path>["body"];
    type Word = string | number | boolean | null | undefined;
    /** The words of a query; those that are empty, null or undefined are not sent. */
    type Words = { [name: string]: Word | readonly Word[] };
    type Query<Of extends Method, Path extends string> = { [name in Found<Of, Path>["query"]]?: Word | readonly Word[] };
    type Options = { signal?: AbortSignal; headers?: Record<string, string> };

    /** The functions of `api`, by method. */
    interface Calls {
      get<P extends Paths<"GET">>(path: P, query: Query<"GET", P>, options: Options & { whole: true }): Promise<{ body: Answer<"GET", P>; headers: Headers }>;
      get<P extends Paths<"GET">>(path: P, query?: Query<"GET", P>, options?: Options): Promise<Answer<"GET", P>>;
      post<P extends Paths<"POST">>(path: P, body?: Body<"POST", P>, options?: Options): Promise<Answer<"POST", P>>;
      put<P extends Paths<"PUT">>(path: P, body: Body<"PUT", P>, options?: Options): Promise<Answer<"PUT", P>>;
      patch<P extends Paths<"PATCH">>(path: P, body: Body<"PATCH", P>, options?: Options): Promise<Answer<"PATCH", P>>;
      remove<P extends Paths<"DELETE">>(path: P, options?: Options): Promise<Answer<"DELETE", P>>;
    }

    type Item<Path extends Paths<"GET">> = Answer<"GET", Path> extends { items: (infer One)[] } ? One : never;

    type Agent = Item<"/agents">;
    type Attempt = Item<`/runs/${string}/attempts`>;
    type Audit = Item<"/audit">;
    type Delivery = Item<`/webhooks/${string}/deliveries`>;
    type Endpoint = Item<"/webhooks">;
    type Event = Item<"/events">;
    type EventCount = Item<"/events/counts">;
    type Execution = Item<"/executions">;
    type Finding = Item<"/doctor">;
    type Job = Item<"/jobs">;
    type LogLine = Item<`/runs/${string}/logs`>;
    type Match = Item<`/events/${string}/matches`>;
    type Notification = Item<"/notifications">;
    type Queue = Item<"/queues">;
    type Recent = Item<"/recent">;
    type Reload = Item<"/reloads">;
    type Run = Item<"/runs">;
    type RunCount = Answer<"GET", "/runs/count">;
    type RunStatus = Run["status"];
    type Schedule = Item<"/schedules">;
    type Scope = Session["may"][number];
    type Session = Answer<"GET", "/tokens/self">;
    type Subscriber = Item<"/events/match">;
    type Tallies = Answer<"GET", "/tallies">;
    type Tenant = Item<"/tenants">;
    type Tick = Item<`/schedules/${string}/ticks`>;
    type Ticks = Answer<"GET", `/schedules/${string}/preview`>;
    type Token = Item<"/tokens">;
    type Trigger = Item<"/triggers">;
    type Upcoming = Item<"/upcoming">;
    type Worker = Item<"/workers">;

    /** The rows of each topic of the WebSocket. */
    interface Topics {
      events: Event;
      jobs: Job;
      reloads: Reload;
      run: Run;
      runs: Run;
      schedules: Schedule;
    }
  }

  type Child = AnyChild;
  type Ref<T> = AnyRef<T>;
  type Problem = ProblemClass;
  /** What may go wrong: what the server has to say, or a fault of the page. */
  type Failure = Error & { status?: number; code?: string };
  /** What `usePoll` knows of an answer: nothing yet, the last one, and what went wrong since. */
  interface Polled<Answer> {
    data: Answer | null;
    problem: Failure | null;
    reload: Reload;
  }
  /** What `useLive` knows of a topic; `rows` is null before the first. */
  interface Followed<Row> {
    rows: Map<string, Row> | null;
    logs: Api.LogLine[];
    next: string | null;
    problem: Failure | null;
  }
  type Reload = () => Promise<unknown>;
  /** What is wrong with the fields of a form, by their names. */
  type Wrong = { [field: string]: string | undefined };

  /** The filter of runs, in the words of GET /runs, in those of the topic and of bulk actions, and whether anything is asked for. */
  interface RunFilterWords {
    query: Api.Query<"GET", "/runs"> & Api.Words;
    topic: Api.Body<"POST", "/bulk">["filter"];
    any: boolean;
  }

  /** The input of a run: arguments by name. */
  type Input = { [name: string]: unknown };
  /** The texts of a form, by the names of its fields. */
  type Texts = { [name: string]: string };
  /** The part of JSON Schema that a handler's signature becomes. */
  interface ArgumentSchema {
    type?: string;
    format?: string;
    description?: string;
    enum?: unknown[];
    default?: unknown;
    nullable?: boolean;
    required?: string[];
    properties?: { [name: string]: ArgumentSchema };
    additionalProperties?: unknown;
    anyOf?: ArgumentSchema[];
    $ref?: string;
    $defs?: { [name: string]: ArgumentSchema };
  }
  /** The input of a run while it is edited: as JSON (`raw`, `text`) or in fields (`texts`). */
  type InputState = { raw: boolean; texts: Texts; text: string };

  type ScheduleBody = Api.Body<"PUT", `/schedules/${string}`>;
  type SchedulePath = `/schedules/${string}`;

  /** A column of a `Table`. */
  interface Column<Row> {
    name: string;
    cell: (row: Row) => Child;
    classes?: string;
    hidden?: boolean;
    head?: Child;
    note?: string;
    by?: (row: Row) => number | string | null | undefined;
  }

  /** A question before something that cannot be taken back. */
  interface Question {
    title: string;
    text: string;
    action: string;
    keep?: string;
    word?: string;
    calm?: boolean;
  }

  /** A screen of the dashboard. */
  interface ScreenEntry {
    path: string;
    name: string;
    group: string;
    load: () => Promise<{ [name: string]: unknown }>;
    needs?: Api.Scope;
    key: string;
  }

  interface JSON {
    rawJSON?(text: string): unknown;
    parse(text: string, revive: (name: string, value: any, context?: { source: string }) => unknown): any;
  }
}
