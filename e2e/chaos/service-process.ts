import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = join(import.meta.dirname, '../..');
const readyMsMax = 60_000;
const stopMsMax = 20_000;
/** The last output of a program explains why it ended. */
const linesKept = 50;
const lineCharactersMax = 2000;

export interface ProcessProgram {
  /** For example `api 1`, for the figures and the reports. */
  readonly name: string;
  /** The file that Node runs, inside the repository, with its arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The URL that returns 200 once it is ready; without one it counts as ready at once. */
  readonly readyUrl?: string;
  /** Receives its output. */
  readonly logFile: string;
}

/** A program that is killed and started again, always with the same settings. */
export class ServiceProcess {
  readonly name: string;
  /** Unexpected ends: each is a fault of the program. */
  readonly unasked: string[] = [];
  readonly #program: ProcessProgram;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #isMeantToRun = false;
  #lines: string[] = [];
  #begun = '';

  constructor(program: ProcessProgram) {
    this.name = program.name;
    this.#program = program;
  }

  /** Starts it and waits until it is ready. */
  async start(): Promise<void> {
    this.launch();
    await this.isReady();
  }

  /** Waits until it responds. @throws Error after a minute, with its last output */
  async isReady(): Promise<void> {
    const { readyUrl } = this.#program;
    const deadline = performance.now() + readyMsMax;
    for (;;) {
      const problem = readyUrl === undefined ? undefined : await problemOf(readyUrl);
      if (problem === undefined) return;
      if (performance.now() > deadline)
        throw new Error(
          [`${this.name} did not become ready: ${problem}; it printed last:`, ...this.lastLines()].join(
            '\n    ',
          ),
        );
      await sleep(100);
    }
  }

  /** Starts it without waiting. */
  launch(): void {
    const { command, env, logFile } = this.#program;
    const [file, ...args] = command;
    const child = spawn(process.execPath, [join(root, file as string), ...args], {
      cwd: root,
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        appendFileSync(logFile, chunk);
        this.#keep(chunk.toString());
      });
    this.#child = child;
    this.#isMeantToRun = true;
    this.#ended = new Promise((done) => child.once('exit', () => done()));
    let isUnasked = false;
    child.once('exit', () => {
      isUnasked = this.#isMeantToRun && this.#child === child;
    });
    // `close` is emitted only after all output has arrived.
    child.once('close', (code, signal) => {
      if (isUnasked)
        this.unasked.push(
          [`${this.name} ended by itself with ${signal ?? code}; it printed last:`, ...this.lastLines()].join(
            '\n    ',
          ),
        );
    });
  }

  /** At most 50 lines, including those of its previous processes. */
  lastLines(): string[] {
    return [...this.#lines, ...(this.#begun === '' ? [] : [this.#begun])].slice(-linesKept);
  }

  #keep(text: string): void {
    const lines = (this.#begun + text).split('\n').map((line) => line.slice(0, lineCharactersMax));
    this.#begun = lines.pop() ?? '';
    this.#lines = [...this.#lines, ...lines].slice(-linesKept);
  }

  /** Kills it at an arbitrary point, and starts it again. */
  async killAndRestart(pauseMs: number): Promise<void> {
    await this.#end('SIGKILL');
    await sleep(pauseMs);
    this.launch();
  }

  /** Suspends it at an arbitrary point; its open transactions remain open. */
  async freeze(ms: number): Promise<void> {
    const child = this.#child;
    child?.kill('SIGSTOP');
    await sleep(ms);
    child?.kill('SIGCONT');
  }

  /** Sends it a signal to stop, and kills it if it doesn't stop. */
  async stop(): Promise<void> {
    const late = setTimeout(() => this.#child?.kill('SIGKILL'), stopMsMax);
    await this.#end('SIGTERM');
    clearTimeout(late);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#isMeantToRun = false;
    this.#child?.kill(signal);
    await this.#ended;
  }
}

/** The reason why the program is not ready; undefined if it is ready. */
async function problemOf(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
    const text = await response.text();
    return response.ok ? undefined : `${response.status} ${text.slice(0, 500)}`;
  } catch (error) {
    return `${String(error)} ${String((error as Error).cause ?? '')}`;
  }
}
