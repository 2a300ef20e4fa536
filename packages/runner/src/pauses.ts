import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskEnd } from './task-run.ts';

const firstMs = 1_000;
const pauseMsMax = 60_000;

/**
 * Delays a runner after a command failed or released its task: 1 s, then twice as long each time, up to a minute. A
 * released task is offered again at once, and a broken command would fail a whole backlog in seconds.
 */
export class Pauses {
  readonly #stopping: AbortSignal;
  readonly #say: (line: string) => void;
  #nextMs = firstMs;

  constructor(stopping: AbortSignal, say: (line: string) => void) {
    this.#stopping = stopping;
    this.#say = say;
  }

  async after(end: TaskEnd): Promise<void> {
    if (end === 'done' || end === 'suspended') this.#nextMs = firstMs;
    if ((end !== 'failed' && end !== 'released') || this.#stopping.aborted) return;
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(pauseMs * 2, pauseMsMax);
    this.#say(`The next task is taken in ${pauseMs / 1000} s.`);
    await sleep(pauseMs, undefined, { signal: this.#stopping }).catch(() => undefined);
  }
}
