// The part of Preact's hooks that the dashboard uses.

export interface Ref<T> {
  current: T;
}

type Inputs = readonly unknown[];

export function useState<T>(first: T | (() => T)): [T, (next: T | ((before: T) => T)) => void];
export function useRef<T>(first: T): Ref<T>;
/** What an effect returns, if it is a function, ends it. */
export function useEffect(effect: () => unknown, inputs?: Inputs): void;
export function useMemo<T>(make: () => T, inputs: Inputs): T;
export function useCallback<T extends Function>(call: T, inputs: Inputs): T;
export function useId(): string;
