import { setTimeout as sleep } from 'node:timers/promises';
import { type BatonClient, BatonError, type Lease } from '@baton/sdk';
import type { LiveArtifact, LiveTask } from './backlog.ts';

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
  const { steps, question, artifact, commit }: Partial<LiveTask> & Pick<LiveTask, 'steps'> = script.get(
    task.id,
  ) ?? { steps: [] };
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
    await recordAction(lease, baton, index);
    await lease.checkpoint('step', { step });
  }
  if (artifact !== undefined) await publish(lease, baton, artifact);
  await lease.succeed({
    summary: steps.at(-1) ?? 'Done.',
    steps: steps.length,
    ...(commit !== undefined && { commit }),
  });
  say(`has done ${task.publicId}`);
}

/** Records an action with the usage of a simulated model call. */
async function recordAction(lease: Lease, baton: BatonClient, index: number): Promise<void> {
  const inputTokens = 2_000 + Math.round(Math.random() * 6_000);
  const outputTokens = 200 + Math.round(Math.random() * 1_200);
  const usage = {
    inputTokens,
    outputTokens,
    costMicros: inputTokens * 3 + outputTokens * 15,
    currency: 'USD',
  };
  const action = { action: `model call ${index + 1}`, status: 'completed', usage };
  await lease.write(({ signal }) => baton.runs.createAction(lease.run.id, action, { signal }));
}

/** Publishes the file of a task. Without a content store, the record itself contains the text. */
async function publish(lease: Lease, baton: BatonClient, { name, mediaType, text }: LiveArtifact) {
  const file = { type: 'document', name };
  try {
    const { contentRef } = await baton.artifactContents.upload(new Blob([text], { type: mediaType }));
    await lease.putArtifact({ ...file, contentRef });
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'content_store_unavailable') throw error;
    await lease.putArtifact({ ...file, content: { text } });
  }
}
