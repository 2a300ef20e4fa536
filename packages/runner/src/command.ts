import { spawn } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { type MarkedLine, MarkedLines } from './marked-lines.ts';
import type { Secrets } from './secrets.ts';
import { killStrays } from './strays.ts';

export interface CommandOptions {
  /** The argument of `sh -c`. */
  readonly exec: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Written to standard input, which is then closed. */
  readonly input: string;
  /** The id is also in the command's environment, by which a process that has left the group can be identified. */
  readonly runId: string;
  /** How long the command may run until the runner's next sign of life. */
  readonly leftMs: number;
  /** The file for the command's output, with both streams in the order of arrival. */
  readonly outputFile: string;
  /** Secrets, which are removed from the output. */
  readonly secrets: Secrets;
  /** The prefix of lines for the runner. */
  readonly mark: string;
  /** Called with each line of standard output that may be for the runner; the next line waits for it. */
  onLine(line: MarkedLine): Promise<void>;
}

/** How a command ended: with an exit code or by a signal. */
export interface CommandEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The maximum size of the stored output per run. Any more is read and discarded, so that the command doesn't block. */
export const outputBytesMax = 10 * 1024 * 1024;
/**
 * How long to wait for the last output after the command has ended, because a process in another group may keep the
 * pipe open.
 */
const outputMsMax = 5_000;

/**
 * Waits for a line on descriptor 3 and becomes the command. A process of the same group kills the group when the other
 * end of descriptor 3 is closed, or when the number of seconds that it last read there has passed without a new one.
 * Therefore no command outlives its runner, even after SIGKILL, or its lease, even after SIGSTOP of the runner. The
 * command's own processes don't outlive the run either. `sleep` inherits that SIGTERM is ignored, because the group
 * receives a SIGTERM first.
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

/** One running command with all its processes, in its own process group. */
export class Command {
  readonly ended: Promise<CommandEnd>;
  readonly #collected: Collected;
  readonly #pid: number;
  readonly #runId: string;
  readonly #lifeline: Writable;
  #hasEnded = false;

  /** @throws Error if it can't be started */
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
    // A command may close its standard input without reading it.
    for (const stream of [lifeline, input]) stream.on('error', () => undefined);
    const exited = new Promise<CommandEnd>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    let collected: Collected;
    try {
      // The file is opened before the command starts, because the command may remove the folder.
      collected = collect(child.stdout, child.stderr, options);
    } catch (error) {
      // Without the start line, the wrapper exits.
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
      // Kills the processes that the command left running.
      this.#killAll();
      const slow = setTimeout(() => collected.stop(), outputMsMax);
      await collected.done;
      clearTimeout(slow);
      return end;
    });
  }

  /** The error code if its output could not be written, such as ENOSPC; undefined if everything was written. */
  get outputFault(): string | undefined {
    return this.#collected.fault();
  }

  /**
   * Sends SIGTERM and, if the command has not ended after the grace period, SIGKILL. Resolves when the command has
   * ended.
   */
  async stop(graceMs: number): Promise<CommandEnd> {
    if (!this.#hasEnded) this.#signal('SIGTERM');
    const kill = setTimeout(() => this.kill(), graceMs);
    const end = await this.ended;
    clearTimeout(kill);
    return end;
  }

  /** Kills the command and all its processes at once. */
  kill(): void {
    if (!this.#hasEnded) this.#killAll();
  }

  /** Lets the command run for this long without another sign of life from the runner. */
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
      // The group no longer exists.
    }
  }
}

/** Only whole seconds work with `sleep` on every system. */
function secondsOf(ms: number): number {
  return Math.max(Math.floor(ms / 1000), 0);
}

interface Collected {
  readonly done: Promise<void>;
  stop(): void;
  /** The error code if the output could not be written. */
  fault(): string | undefined;
}

/** Writes both streams into the file, and passes the lines of standard output on, one after another. */
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
  // A destroyed stream, for example after `stop`, ends its reader with an error.
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
 * Stores the output, up to the limit. A full disk must not stop the reader: the command would block at its next line,
 * and its lines for the runner would be lost.
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
          Buffer.from(`\n[the output is longer than ${outputBytesMax} bytes; the rest is not stored]\n`),
        );
    } catch (error) {
      this.fault = (error as NodeJS.ErrnoException).code ?? String(error);
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  /**
   * Writes repeatedly, because the file system may write only a part of the data and report the reason only at the next
   * write.
   */
  #write(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0; ) rest = rest.subarray(writeSync(this.#file, rest));
  }
}
