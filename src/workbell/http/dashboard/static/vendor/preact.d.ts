// The part of Preact that the dashboard uses.

export interface VNode {
  type: unknown;
  props: object;
  key: unknown;
}

export type Child = VNode | Child[] | string | number | bigint | boolean | null | undefined;

export function h(type: unknown, props: object | null, ...children: Child[]): VNode;
export function render(shown: Child, parent: Element): void;

export class Component<Props, State> {
  props: Readonly<Props>;
  state: Readonly<State>;
  constructor(props: Props);
  setState(change: Partial<State>): void;
  render(props: Props, state: State): Child;
}
