import { setTimeout as sleep } from 'node:timers/promises';
import type { BatonClient, Lease } from '@baton/sdk';
import type { LiveTask } from './backlog.ts';

export interface LiveAgentOptions {
  readonly name: string;
  readonly baton: BatonClient;
  readonly workspaceId: string;
  /** The tasks of the demo, by their ids. */
  readonly script: ReadonlyMap<string, LiveTask>;
  /** The person who decides the approvals. */
  readonly visitorId: string;
  /** The duration of one step of the work, in milliseconds. */
  readonly stepMs: number;
  readonly signal: AbortSignal;
  say(what: string): void;
}

const leaseSeconds = 20;

/** Takes one task of the demo after another and follows its script until the signal is aborted. */
export async function runLiveAgent(options: LiveAgentOptions): Promise<void> {
  const { name, baton, workspaceId, signal } = options;
  await using harness = await baton.harness.open({ name, type: 'baton-demo', leaseSeconds });
  const work = { filter: { workspaceId }, intent: `${name} does it`, idleMs: 1_000, signal };
  for await (const lease of harness.work(work))
    await doTask(lease, options).catch((error: unknown) => {
      if (lease.signal.aborted) options.say(`lost ${lease.task.publicId}`);
      else if (!signal.aborted) throw error;
    });
}

async function doTask(lease: Lease, { baton, script, visitorId, stepMs, signal, say }: LiveAgentOptions) {
  const { task } = lease;
  const { steps, question } = script.get(task.id) ?? { steps: [] };
  say(`takes ${task.publicId}: ${task.title}`);
  const either = AbortSignal.any([signal, lease.signal]);
  const { checkpoints } = await lease.context();
  const { items: asked } = await baton.approvals.list({ taskId: task.id, limit: 10 });
  const answer = asked.find(({ status }) => status === 'approved' || status === 'rejected');
  if (answer !== undefined) {
    const word = answer.status === 'approved' ? 'yes' : 'no';
    await lease.comment({
      body: `You decided: ${word}. I continue${word === 'no' ? ' without it' : ''}.`,
    });
  }
  // Steps that an earlier agent has done are not repeated.
  const done = checkpoints.filter(({ kind }) => kind === 'step').length;
  for (const [index, step] of [...steps.entries()].slice(done)) {
    await sleep(stepMs * (0.6 + Math.random() * 0.8), undefined, { signal: either });
    if (index === steps.length - 1 && question !== undefined && answer === undefined) {
      await lease.askApproval({ comment: question, assignedPrincipalId: visitorId });
      say(`requests your approval for ${task.publicId}: ${question}`);
      return;
    }
    await lease.checkpoint('step', { step });
    await lease.comment({ body: step });
  }
  await lease.succeed({ steps: steps.length });
  say(`has done ${task.publicId}`);
}
