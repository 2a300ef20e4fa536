import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BatonClient,
  BatonError,
  createClient,
  type Lease,
  type Task,
  type WorkOptions,
} from '@baton/sdk';
import { fileStore } from '@baton/sdk/node';
import { SettingsError } from '@baton/values/program-options';
import { takeLock } from '../../../bin/lock.mjs';
import { CancelledTasks } from './cancelled-tasks.ts';
import { Pauses } from './pauses.ts';
import { removeFolder } from './remove-folder.ts';
import type { RunnerSettings } from './settings.ts';
import { killStrays } from './strays.ts';
import { failureCharactersMax, type Place, type TaskEnd, TaskRun } from './task-run.ts';
import { version } from './version.ts';
import { findWorkspaceId } from './workspace.ts';

/** The delay before the next session after one was lost or could not be opened. */
const againMs = 5_000;

/**
 * Takes tasks and runs the command for each, until `stopping` is aborted.
 * @returns the exit code: 0, or 1 when the single task of `--once` was not done
 * @throws SettingsError; BatonError when the service rejects it
 */
export async function runRunner(
  settings: RunnerSettings,
  stopping: AbortSignal,
  say: (line: string) => void,
): Promise<number> {
  mkdirSync(settings.folder, { recursive: true, mode: 0o700 });
  const lock = takeLock(join(settings.folder, 'lock'));
  if (lock.release === undefined)
    throw new SettingsError(
      `Another runner (process ${lock.holderPid}) uses ${settings.folder}: name another with --folder.`,
      1,
    );
  try {
    // A killed runner's commands ended with it (see Command), but processes that had left their groups may still run:
    // they are killed now, and their folders are removed.
    const runs = join(settings.folder, 'runs');
    const killed = killStrays(existsSync(runs) ? readdirSync(runs) : []);
    if (killed > 0) say(`Killed the remaining processes of an earlier runner: ${killed} processes.`);
    const fault = removeFolder(runs);
    if (fault !== undefined) say(`The folders of earlier runs could not be removed: ${fault}`);
    return await work(settings, stopping, say);
  } finally {
    lock.release();
  }
}

async function work(
  settings: RunnerSettings,
  stopping: AbortSignal,
  say: (line: string) => void,
): Promise<number> {
  const { coordinationUrl, identityUrl, credential } = settings;
  const baton = createClient({ coordinationUrl, identityUrl, credential });
  const filter = await filterOf(baton, settings);
  const ends: TaskEnd[] = [];
  const cancelledTasks = new CancelledTasks();
  const place: Place = { baton, settings, stopping, cancelledTasks, say };
  const pauses = new Pauses(stopping, say);
  while (!stopping.aborted) {
    try {
      await using harness = await baton.harness
        .open({
          name: settings.name,
          type: 'baton-runner',
          version,
          hostname: hostname(),
          leaseSeconds: settings.leaseSeconds,
          store: fileStore(join(settings.folder, 'session')),
        })
        .catch(refuseLackingPermission);
      say(
        settings.task === undefined
          ? `Waiting for work as ${settings.name} ...`
          : `Taking ${settings.task} as ${settings.name} ...`,
      );
      const options: WorkOptions = {
        get accepts() {
          return choiceOf(settings, cancelledTasks);
        },
        filter,
        ...(settings.task !== undefined && { task: settings.task }),
        signal: stopping,
        once: settings.isOnce,
        intent: `runner ${settings.name}`,
      };
      const handle = async (lease: Lease) => {
        const end = await doTask(lease, place);
        ends.push(end);
        if (!settings.isOnce) await pauses.after(end);
      };
      if (!settings.isOnce) await harness.workParallel(settings.parallel, options, handle);
      else
        for await (const lease of harness.work(options)) {
          await handle(lease);
          // A task that an earlier runner held comes before the requested one. The loop ends after the requested task.
          if (settings.task === undefined) break;
        }
      if (settings.isOnce) break;
    } catch (error) {
      if (settings.task !== undefined) throw whyNotTaken(error, settings.task);
      if (!(error instanceof BatonError) || settings.isOnce) throw error;
      if (!error.retryable && error.code !== 'session_expired') throw error;
      say(`${error.message}; a new session is opened in ${againMs / 1000} s.`);
      await sleep(againMs, undefined, { signal: stopping }).catch(() => undefined);
    }
  }
  const isGood = ends.every((end) => end === 'done' || end === 'suspended');
  return settings.isOnce && !isGood ? 1 : 0;
}

async function filterOf(
  baton: BatonClient,
  { workspace, isMineOnly }: RunnerSettings,
): Promise<NonNullable<WorkOptions['filter']>> {
  const within =
    workspace === undefined
      ? {}
      : { workspaceId: await findWorkspaceId(baton, workspace), includeDescendants: true };
  return { ...within, ...(isMineOnly && { assignedToMe: true }) };
}

/**
 * Reports the harness's message about the missing permission task_types.read. @throws SettingsError, or the error
 * itself
 */
function refuseLackingPermission(error: unknown): never {
  if (error instanceof TypeError) throw new SettingsError(`${error.message}.`, 1);
  throw error;
}

async function doTask(lease: Lease, place: Place): Promise<TaskEnd> {
  const { publicId, title } = lease.task;
  place.say(`${publicId} ${lease.isResumed ? 'is continued' : 'begins'}: ${title}`);
  const began = performance.now();
  try {
    const end = await new TaskRun(lease, place).do();
    place.say(`${publicId} ${end} after ${((performance.now() - began) / 1000).toFixed(1)} s`);
    return end;
  } catch (error) {
    // A task that can't be done must not stop the others. It fails rather than being released, so that the service
    // delays it: a released task would be the first to be offered again.
    const { message } = error as Error;
    place.say(`${publicId} could not be done: ${message}`);
    const code = error instanceof BatonError ? error.code : 'runner_error';
    const call = { attempts: 2, deadlineMs: 10_000 };
    await lease
      .fail(`${code}: ${message}`.slice(0, failureCharactersMax), undefined, call)
      .catch(() => undefined);
    return 'failed';
  }
}

/** @returns a message if the error is a rejected claim; any other error unchanged */
function whyNotTaken(error: unknown, task: string): unknown {
  if (!(error instanceof BatonError) || error.retryable || error.status === 401) return error;
  return new SettingsError(`${task} can't be taken: ${error.code}: ${error.message.replace(/\.$/, '')}.`, 1);
}

/**
 * Selects tasks here only if some are excluded. Otherwise the service selects the task, in one call and without
 * collisions with rivals.
 */
function choiceOf(
  { types, labels }: RunnerSettings,
  cancelledTasks: CancelledTasks,
): ((task: Task) => boolean) | undefined {
  if (types.length === 0 && labels.length === 0 && cancelledTasks.isEmpty) return undefined;
  return (task) => {
    const { typeKey, customFields } = task;
    const own = Array.isArray(customFields['labels']) ? (customFields['labels'] as unknown[]) : [];
    const isWanted =
      (types.length === 0 || types.includes(typeKey)) && labels.every((label) => own.includes(label));
    return isWanted && !cancelledTasks.isLeftOut(task);
  };
}
