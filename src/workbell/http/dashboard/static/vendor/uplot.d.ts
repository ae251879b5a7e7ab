// The part of uPlot that the dashboard uses.

export default class uPlot {
  constructor(options: Options, data: readonly (readonly (number | null)[])[], parent: Element);
  static tzDate(date: Date, zone: string): Date;
  static paths: { bars: (options: { size: [number, number] }) => object };
  cursor: { idx: number | null | undefined };
  setData(data: readonly (readonly (number | null)[])[]): void;
  setSize(size: { width: number; height: number }): void;
  destroy(): void;
}

type Range = (plot: uPlot, low: number | null, high: number | null) => [number, number];

interface Options {
  width: number;
  height: number;
  legend: { show: boolean };
  padding: [number, number, number, number];
  cursor: { drag: { x: boolean; y: boolean }; y: boolean; points: { show: boolean }; sync: { key: string } };
  hooks: { setCursor: ((plot: uPlot) => void)[] };
  tzDate: (seconds: number) => Date;
  scales: { x: { range: Range }; y: { range: Range } };
  axes: object[];
  series: object[];
}
