import { setTimeout as sleep } from 'node:timers/promises';
import { BatonError, etagOf } from '@baton/sdk';
import type { StalledWriter } from './agent.ts';
import { count, type Tally } from './tally.ts';

const marginMs = 500;
const spreadMs = 2000;
const versionConflictsMax = 10;

/**
 * Resumes a killed agent after its lease has expired: it finishes its run and changes its task under the old claim.
 * Both must be rejected. It calls the API directly, because the harness would send neither request.
 */
export async function resumeStalledWriter(
  writer: StalledWriter,
  leaseSeconds: number,
  tally: Tally,
): Promise<void> {
  await sleep(leaseSeconds * 1000 + marginMs + Math.random() * spreadMs);
  await expectRefusal(tally, () => finishRun(writer));
  await expectRefusal(tally, () => changeTask(writer));
}

async function expectRefusal(tally: Tally, write: () => Promise<void>): Promise<void> {
  try {
    await write();
    tally.stalledAccepted += 1;
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    count(tally.stalledRefused, error.code);
  }
}

async function finishRun({ baton, claim, runId }: StalledWriter): Promise<void> {
  const { id: claimId, fencingToken, taskId } = claim;
  if (runId === undefined) await baton.tasks.startRun(taskId, { claimId, fencingToken });
  else await baton.runs.succeed(runId);
}

async function changeTask({ baton, claim }: StalledWriter): Promise<void> {
  const { id: claimId, fencingToken, taskId } = claim;
  const change = { description: 'written by an agent whose lease has expired', claimId, fencingToken };
  for (let attempt = 1; ; attempt += 1) {
    const task = await baton.tasks.get(taskId);
    try {
      await baton.tasks.update(taskId, change, { ifMatch: etagOf(task) });
      return;
    } catch (error) {
      const isRace = error instanceof BatonError && error.code === 'version_conflict';
      if (!isRace || attempt === versionConflictsMax) throw error;
    }
  }
}
