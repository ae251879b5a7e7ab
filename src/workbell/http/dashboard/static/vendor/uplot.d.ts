// The part of uPlot that the dashboard uses.

export default class uPlot {
  constructor(options: Options, data: readonly (readonly number[])[], parent: Element);
  static tzDate(date: Date, zone: string): Date;
  cursor: { idx: number | null | undefined };
  setData(data: readonly (readonly number[])[]): void;
  setSize(size: { width: number; height: number }): void;
  destroy(): void;
}

interface Options {
  width: number;
  height: number;
  legend: { show: boolean };
  cursor: { drag: { x: boolean; y: boolean } };
  hooks: { setCursor: ((plot: uPlot) => void)[] };
  tzDate: (seconds: number) => Date;
  scales: { y: { range: (plot: uPlot, low: number | null, high: number | null) => [number, number] } };
  axes: object[];
  series: object[];
}
