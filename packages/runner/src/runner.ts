import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BatonError, createClient, type Lease, type Task, type WorkOptions } from '@baton/sdk';
import { fileStore } from '@baton/sdk/node';
import { takeLock } from '../../../bin/lock.mjs';
import { FailedTasks } from './failed-tasks.ts';
import { Pauses } from './pauses.ts';
import { removeFolder } from './remove-folder.ts';
import { type RunnerSettings, SettingsError } from './settings.ts';
import { killStrays } from './strays.ts';
import { type Place, type TaskEnd, TaskRun } from './task-run.ts';
import { version } from './version.ts';

/** After a session is lost, or the service was away while one was opened, the next is opened this much later. */
const againMs = 5_000;

/**
 * Takes tasks and runs the command for each, until `stopping` is aborted.
 * @returns the exit code: 0, or 1 when the one task of `--once` was not done
 * @throws SettingsError; BatonError what the service refuses
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
    // The commands of a runner that was killed ended with it (see Command); what had left their groups ends now, and their
    // folders are nobody's.
    const runs = join(settings.folder, 'runs');
    const killed = killStrays(existsSync(runs) ? readdirSync(runs) : []);
    if (killed > 0) say(`Killed what an earlier runner had left behind: ${killed} processes.`);
    const fault = removeFolder(runs);
    if (fault !== undefined) say(`What earlier runs have left could not be removed: ${fault}`);
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
  const { coordinationUrl, identityUrl, token } = settings;
  const baton = createClient({ coordinationUrl, identityUrl, credential: { token } });
  const ends: TaskEnd[] = [];
  const failedTasks = new FailedTasks();
  const place: Place = { baton, settings, stopping, failedTasks, say };
  const pauses = new Pauses(stopping, say);
  while (!stopping.aborted) {
    try {
      await using harness = await baton.harness.open({
        name: settings.name,
        type: 'baton-runner',
        version,
        leaseSeconds: settings.leaseSeconds,
        store: fileStore(join(settings.folder, 'session')),
      });
      say(`Waiting for work as ${settings.name} ...`);
      const options: WorkOptions = {
        get accepts() {
          return choiceOf(settings, failedTasks);
        },
        ...(settings.isMineOnly && { filter: { assignedToMe: true } }),
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
          break;
        }
      if (settings.isOnce) break;
    } catch (error) {
      if (!(error instanceof BatonError) || settings.isOnce) throw error;
      if (!error.retryable && error.code !== 'session_expired') throw error;
      say(`${error.message}; a new session is opened in ${againMs / 1000} s.`);
      await sleep(againMs, undefined, { signal: stopping }).catch(() => undefined);
    }
  }
  const isGood = ends.every((end) => end === 'done' || end === 'asked');
  return settings.isOnce && !isGood ? 1 : 0;
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
    // One task that can't be done must not end the others. Somebody else may have it while this runner pauses.
    place.say(`${publicId} could not be done: ${(error as Error).message}`);
    await lease.release('could not be done', { attempts: 2, deadlineMs: 10_000 }).catch(() => undefined);
    return 'failed';
  }
}

/** Where nothing is left out the service chooses: it does so in one call, and rivals don't collide. */
function choiceOf(
  { types, labels }: RunnerSettings,
  failedTasks: FailedTasks,
): ((task: Task) => boolean) | undefined {
  if (types.length === 0 && labels.length === 0 && failedTasks.isEmpty) return undefined;
  return (task) => {
    const { typeKey, customFields } = task;
    const own = Array.isArray(customFields['labels']) ? (customFields['labels'] as unknown[]) : [];
    const isWanted =
      (types.length === 0 || types.includes(typeKey)) && labels.every((label) => own.includes(label));
    return isWanted && !failedTasks.isLeftOut(task);
  };
}
