import { spawn } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { type MarkedLine, MarkedLines } from './marked-lines.ts';
import type { Secrets } from './secrets.ts';
import { killStrays } from './strays.ts';

export interface CommandOptions {
  /** What `sh -c` runs. */
  readonly exec: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Goes to standard input, which ends then. */
  readonly input: string;
  /** As in the environment: by it a process is known that has left the group. */
  readonly runId: string;
  /** How long it may live without a word of the runner. */
  readonly leftMs: number;
  /** Gets what the command prints, both streams in the order of arrival. */
  readonly outputFile: string;
  /** What does not get there. */
  readonly secrets: Secrets;
  /** With which lines for the runner begin. */
  readonly mark: string;
  /** Called with each line of standard output that may be for the runner; the next line waits for it. */
  onLine(line: MarkedLine): Promise<void>;
}

/** How a command ended: by itself with a code, or by a signal. */
export interface CommandEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What is kept of the output of one run. More is read and dropped, so that the command does not stand still. */
export const outputBytesMax = 10 * 1024 * 1024;
/** After the command's end its last output is waited for so long: a process of another group may hold the pipe. */
const outputMsMax = 5_000;

/**
 * Waits for a word on descriptor 3 and becomes the command. Beside it stands a process of the same group that kills the group
 * when nobody holds the other end of descriptor 3 any more, or when the seconds that it read there last are over and no others
 * came: so no command outlives its runner, be it killed by SIGKILL, nor its lease, be the runner stopped by SIGSTOP. What the
 * command left behind does not outlive the run either. `sleep` inherits that SIGTERM is ignored, as the group gets one first.
 */
const wrapper = `read -r go <&3 || exit 125
( trap '' TERM INT HUP QUIT USR1 USR2
  while read -r seconds; do
    ( sleep "$seconds"; kill -KILL 0 ) &
    [ -z "$last" ] || kill -KILL "$last"
    last=$!
  done
  kill -KILL 0 ) <&3 >/dev/null 2>&1 &
exec 3<&-
exec sh -c "$0"`;

/** One running command with all that it starts: a process group of its own. */
export class Command {
  readonly ended: Promise<CommandEnd>;
  readonly #collected: Collected;
  readonly #pid: number;
  readonly #runId: string;
  readonly #lifeline: Writable;
  #hasEnded = false;

  /** @throws Error where it can't be started */
  static async start(options: CommandOptions): Promise<Command> {
    const child = spawn('sh', ['-c', wrapper, options.exec], {
      cwd: options.folder,
      env: options.environment,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    const lifeline = child.stdio[3] as Writable;
    const input = child.stdin;
    // A command that reads nothing closes its end.
    for (const stream of [lifeline, input]) stream.on('error', () => undefined);
    const exited = new Promise<CommandEnd>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    let collected: Collected;
    try {
      // Before the command begins: it may remove the folder that its output goes to.
      collected = collect(child.stdout, child.stderr, options);
    } catch (error) {
      // Without the word to begin the wrapper ends.
      lifeline.destroy();
      throw error;
    }
    lifeline.write(`go\n${secondsOf(options.leftMs)}\n`);
    input.end(options.input);
    return new Command(Number(child.pid), options.runId, exited, lifeline, collected);
  }

  private constructor(
    pid: number,
    runId: string,
    exited: Promise<CommandEnd>,
    lifeline: Writable,
    collected: Collected,
  ) {
    this.#pid = pid;
    this.#runId = runId;
    this.#lifeline = lifeline;
    this.#collected = collected;
    this.ended = exited.then(async (end) => {
      this.#hasEnded = true;
      lifeline.destroy();
      // What the command started and left running goes with it.
      this.#killAll();
      const slow = setTimeout(() => collected.stop(), outputMsMax);
      await collected.done;
      clearTimeout(slow);
      return end;
    });
  }

  /** Why not all of its output is in the file, as ENOSPC; undefined where it is. */
  get outputFault(): string | undefined {
    return this.#collected.fault();
  }

  /** Asks it to end, and kills it when it has not after the grace. Resolves when it is gone. */
  async stop(graceMs: number): Promise<CommandEnd> {
    if (!this.#hasEnded) this.#signal('SIGTERM');
    const kill = setTimeout(() => this.kill(), graceMs);
    const end = await this.ended;
    clearTimeout(kill);
    return end;
  }

  /** Kills it with all that it started, at once. */
  kill(): void {
    if (!this.#hasEnded) this.#killAll();
  }

  /** Lets it live for so long from now without a further word, whatever happens to the runner. */
  prolong(leftMs: number): void {
    if (!this.#hasEnded) this.#lifeline.write(`${secondsOf(leftMs)}\n`);
  }

  #killAll(): void {
    this.#signal('SIGKILL');
    killStrays([this.#runId]);
  }

  #signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.#pid, signal);
    } catch {
      // The group is gone.
    }
  }
}

/** `sleep` of every system takes whole seconds. */
function secondsOf(ms: number): number {
  return Math.max(Math.floor(ms / 1000), 0);
}

interface Collected {
  readonly done: Promise<void>;
  stop(): void;
  /** The code of what kept the output from being written, if anything did. */
  fault(): string | undefined;
}

/** Writes both streams into the file, and hands the lines of standard output on, one after another. */
function collect(
  stdout: Readable,
  stderr: Readable,
  { outputFile, secrets, mark, onLine }: Pick<CommandOptions, 'outputFile' | 'secrets' | 'mark' | 'onLine'>,
): Collected {
  const file = new OutputFile(outputFile);
  const readOutput = async () => {
    const hidden = secrets.stream();
    const lines = new MarkedLines(mark);
    for await (const chunk of stdout as AsyncIterable<Buffer>) {
      file.keep(hidden.take(chunk));
      for (const line of lines.take(chunk)) await onLine(line);
    }
    file.keep(hidden.end());
    for (const line of lines.end()) await onLine(line);
  };
  const readErrors = async () => {
    const hidden = secrets.stream();
    for await (const chunk of stderr as AsyncIterable<Buffer>) file.keep(hidden.take(chunk));
    file.keep(hidden.end());
  };
  // A stream that is destroyed, as by `stop`, ends its reader with an error.
  const both = Promise.allSettled([readOutput(), readErrors()]);
  return {
    done: both.then(() => file.close()),
    stop() {
      stdout.destroy();
      stderr.destroy();
    },
    fault: () => file.fault,
  };
}

/**
 * Keeps what is printed, up to the bound. A disk that is full must not end the reading: the command would stand still at its
 * next line, and what it asks of the runner would be lost.
 */
class OutputFile {
  readonly #file: number;
  #bytes = 0;
  fault: string | undefined;

  constructor(path: string) {
    this.#file = openSync(path, 'w', 0o600);
  }

  keep(chunk: Buffer): void {
    const before = this.#bytes;
    this.#bytes += chunk.length;
    if (before >= outputBytesMax || this.fault !== undefined) return;
    try {
      this.#write(chunk.subarray(0, outputBytesMax - before));
      if (this.#bytes >= outputBytesMax)
        this.#write(
          Buffer.from(`\n[the output is longer than ${outputBytesMax} bytes; the rest is not kept]\n`),
        );
    } catch (error) {
      this.fault = (error as NodeJS.ErrnoException).code ?? String(error);
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  /** The file system may take a part only, and say at the next one why. */
  #write(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0; ) rest = rest.subarray(writeSync(this.#file, rest));
  }
}
