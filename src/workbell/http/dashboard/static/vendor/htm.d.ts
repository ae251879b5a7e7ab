// htm: markup in template strings, bound to the function that makes elements.
import type { VNode } from "./preact.js";

/** Anything may stand in a template. Functions and lists are named for the sake of what is written in place: it gets its types from here. */
type Placed = {} | null | undefined | Handler | { [name: string]: Placed } | Placed[];
type Handler = (...given: any[]) => unknown;

export type Template = (strings: TemplateStringsArray, ...values: Placed[]) => VNode;

declare const htm: { bind(make: Function): Template };
export default htm;
