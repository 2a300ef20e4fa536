import type { Command } from 'commander';
import { type BatonClient, BatonError, type Claim, type Task } from '@baton/sdk';
import { invocation } from '../../../../bin/invocation.mjs';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { objectIn } from '../json-object.ts';
import { PlainError } from '../plain-error.ts';
import { fieldsNamed, responseOf } from '../result-form.ts';
import { show } from '../show.ts';
import { answersIn, fieldOption, readTaskForm, writeAnswers } from '../tasks/task-form.ts';
import { addAvailable } from '../tasks/tasks.command.ts';
import { type HeldWork, readHeld, requireHeld, writeHeld } from './held-work.ts';

/** A person at a terminal sends no heartbeats, so the lease lasts an hour from the last `work` command. */
const leaseSeconds = 3600;

/** The output of `take` and `drop`. */
const held = fieldsNamed(
  'coordinationUrl',
  'taskId',
  'publicId',
  'title',
  'sessionId',
  'claimId',
  'fencingToken',
  'runId',
);

/** `baton work …`: take a task, save steps, and finish it, from a terminal. Programs use the SDK, MCP or the runner. */
export function addWork(program: Command, context: CommandContext): void {
  const work = program.command('work').description('take tasks and finish them');
  addAvailable(work.command('next').description('list the tasks that can be claimed now'), context);
  addTake(work, context);
  addStatus(work, context);
  addCheckpoint(work, context);
  addDone(work, context);
  addDrop(work, context);
}

function addTake(work: Command, context: CommandContext): void {
  withCommonOptions(
    work.command('take [ref]').description('take a task, by default the most urgent one'),
    held,
  )
    .option('--intent <text>', 'what you intend to do')
    .action((ref: string | undefined, options: CommonOptions & { intent?: string }) =>
      asCaller(options, context, async (baton, access) => {
        const before = readHeld(context.config, access);
        if (before !== undefined && (await isLive(baton, before)))
          throw new PlainError(
            `You hold ${before.publicId} already: ${invocation()} work done finishes it, ${invocation()} work drop releases it.`,
          );
        const session = await baton.sessions.open({ clientName: 'baton work', ttlSeconds: leaseSeconds });
        const asked = { sessionId: session.id, ttlSeconds: leaseSeconds, intent: options.intent ?? '' };
        const taken = await take(baton, ref, asked).catch(async (error: unknown) => {
          await baton.sessions.close(session.id);
          throw error;
        });
        if (taken === undefined) {
          await baton.sessions.close(session.id);
          throw new PlainError(
            `No work is available for you now: ${invocation()} work next lists the available tasks.`,
          );
        }
        const { task, claim } = taken;
        const { id: claimId, fencingToken } = claim;
        const run = await baton.harness.startRun(task.id, { claimId, fencingToken });
        const held: HeldWork = {
          coordinationUrl: access.coordinationUrl,
          taskId: task.id,
          publicId: task.publicId,
          title: task.title,
          sessionId: session.id,
          claimId,
          fencingToken,
          runId: run.id,
        };
        writeHeld(context.config, held);
        await show(context.output, options, held, () => [
          `You hold ${task.publicId}: ${task.title}`,
          `It is yours until ${claim.expiresAt}; each work command extends that to an hour.`,
          `${invocation()} work done finishes it; ${invocation()} work drop releases it.`,
        ]);
      }),
    );
}

async function take(
  baton: BatonClient,
  ref: string | undefined,
  asked: { sessionId: string; ttlSeconds: number; intent: string },
): Promise<{ task: Task; claim: Claim } | undefined> {
  if (ref === undefined) return (await baton.work.claimNext({ ...asked, count: 1 })).items[0];
  const claim = await baton.tasks.claim(ref, asked);
  return { task: await baton.tasks.get(ref), claim };
}

function addStatus(work: Command, context: CommandContext): void {
  withCommonOptions(
    work.command('status').description('show the task that you hold'),
    fieldsNamed(...held.names, 'expiresAt'),
  ).action((options: CommonOptions) =>
    asCaller(options, context, async (baton, access) => {
      const held = requireHeld(context.config, access);
      const claim = await keep(baton, held);
      await show(context.output, options, { ...held, expiresAt: claim.expiresAt }, () => [
        `You hold ${held.publicId}: ${held.title}`,
        `It is yours until ${claim.expiresAt}.`,
      ]);
    }),
  );
}

function addCheckpoint(work: Command, context: CommandContext): void {
  const command = work
    .command('checkpoint <note>')
    .description('save the state of the work for the next holder');
  withCommonOptions(command, responseOf('createCheckpoint')).action((note: string, options: CommonOptions) =>
    asCaller(options, context, async (baton, access) => {
      const held = requireHeld(context.config, access);
      await keep(baton, held);
      const saved = await baton.runs.createCheckpoint(held.runId, { kind: 'progress', data: { note } });
      await show(context.output, options, saved, () => [
        `Checkpoint ${saved.seq} of ${held.publicId} is saved.`,
      ]);
    }),
  );
}

function addDone(work: Command, context: CommandContext): void {
  withCommonOptions(work.command('done').description('finish the task that you hold'), responseOf('getTask'))
    .option('--output <json>', 'the result, as a JSON object')
    .addOption(fieldOption())
    .action((options: CommonOptions & { output?: string; field?: string[] }) =>
      asCaller(options, context, async (baton, access) => {
        const output =
          options.output === undefined
            ? undefined
            : objectIn(options.output, '--output', '{"version": "2.4"}');
        const held = requireHeld(context.config, access);
        await keep(baton, held);
        const before = await baton.tasks.get(held.taskId);
        const form = await readTaskForm(baton, before);
        const { claimId, fencingToken } = held;
        const answers = answersIn(options.field ?? [], held.publicId, form);
        await writeAnswers(baton, before, answers, { claimId, fencingToken });
        const { task } = await baton.runs.succeed(held.runId, output === undefined ? {} : { output });
        await leave(baton, held, context);
        await show(context.output, options, task, () => [`${task.publicId} is ${task.status}.`]);
      }),
    );
}

function addDrop(work: Command, context: CommandContext): void {
  withCommonOptions(work.command('drop').description('release the task that you hold'), held)
    .option('--reason <text>', 'why, for the next holder', 'dropped')
    .action((options: CommonOptions & { reason: string }) =>
      asCaller(options, context, async (baton, access) => {
        const held = requireHeld(context.config, access);
        // The run is cancelled, not failed: a failed attempt would delay the task for others.
        await baton.runs.cancel(held.runId, { reason: options.reason.slice(0, 500) }).catch(unlessEnded);
        await baton.claims.release(held.claimId, { reason: options.reason.slice(0, 200) }).catch(unlessEnded);
        await leave(baton, held, context);
        await show(context.output, options, held, () => [`${held.publicId} is released.`]);
      }),
    );
}

/** Extends session and lease. @throws PlainError if the lease is lost */
async function keep(baton: BatonClient, { sessionId, claimId, publicId }: HeldWork): Promise<Claim> {
  try {
    await baton.sessions.heartbeat(sessionId, { ttlSeconds: leaseSeconds });
    return await baton.claims.heartbeat(claimId, { ttlSeconds: leaseSeconds });
  } catch (error) {
    if (!(error instanceof BatonError) || ![403, 404, 409].includes(error.status)) throw error;
    throw new PlainError(
      `Your lease on ${publicId} has ended (${error.code}): somebody else may work on it. Clear it with ${invocation()} work drop.`,
    );
  }
}

async function isLive(baton: BatonClient, { claimId, fencingToken }: HeldWork): Promise<boolean> {
  const check = await baton.claims.check(claimId, { fencingToken }).catch(unlessEnded);
  return check?.live ?? false;
}

async function leave(baton: BatonClient, { sessionId }: HeldWork, { config }: CommandContext): Promise<void> {
  await baton.sessions.close(sessionId).catch(unlessEnded);
  writeHeld(config, undefined);
}

function unlessEnded(error: unknown): undefined {
  if (!(error instanceof BatonError) || ![403, 404, 409].includes(error.status)) throw error;
  return undefined;
}
