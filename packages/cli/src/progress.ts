import { type ConsoleOutput, clearLine } from './console-output.ts';

const drawEveryMs = 100;
const lineEveryMs = 2000;
const barCellsMax = 24;
const barCellsMin = 8;
/** The longest text next to the bar. */
const besideBarColumns = 90;

/** Shows progress: on a terminal one line that is redrawn, otherwise a line every two seconds. */
export class Progress {
  readonly #output: ConsoleOutput;
  #timer: NodeJS.Timeout | undefined;
  #line: (() => string) | undefined;

  constructor(output: ConsoleOutput) {
    this.#output = output;
  }

  /**
   * Shows `name` with a bar until `end`.
   * @param done how many of `total` are done, called for every update; @param detail the text after the bar
   */
  begin(name: string, total: number, done: () => number, detail: () => string = () => ''): void {
    this.#line = () =>
      `${name.padEnd(9)} ${this.#bar(done(), total)} ${done()}/${total}  ${detail()}`.trimEnd();
    const everyMs = this.#output.isTerminal ? drawEveryMs : lineEveryMs;
    this.#timer = setInterval(() => this.#draw(), everyMs);
    if (this.#output.isTerminal) this.#draw();
  }

  /** Shows the last state and stops updating it. */
  end(): void {
    clearInterval(this.#timer);
    if (this.#line === undefined) return;
    this.#draw();
    if (this.#output.isTerminal) this.#output.progress('\n');
    this.#line = undefined;
  }

  #draw(): void {
    const line = this.#line?.() ?? '';
    if (this.#output.isTerminal)
      this.#output.progress(`${clearLine}${line.slice(0, this.#output.columns - 1)}`);
    else this.#output.progress(`${line}\n`);
  }

  #bar(done: number, total: number): string {
    const { isTerminal, columns } = this.#output;
    const cells = isTerminal
      ? Math.min(barCellsMax, Math.max(barCellsMin, columns - besideBarColumns))
      : barCellsMax;
    const full = total === 0 ? cells : Math.min(cells, Math.floor((done / total) * cells));
    return `[${'#'.repeat(full)}${'-'.repeat(cells - full)}]`;
  }
}
