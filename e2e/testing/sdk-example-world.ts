import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BatonClient, Harness, Lease, Task } from '@baton/sdk';
import type { RunningBaton } from '@baton/testing/running-baton';

/** The names that the examples of the SDK's doc comments may use; `scripts/sdk/examples.ts` has the same list. */
export interface ExampleWorld {
  readonly url: string;
  readonly token: string;
  readonly baton: BatonClient;
  readonly harness: Harness;
  /** The lease of a task that `harness` holds. */
  readonly lease: Lease;
  /** An unclaimed task. */
  readonly task: Task;
  /** The person who decides. */
  readonly personId: string;
  /** The folder with the `.baton` of the running Baton. */
  readonly folder: string;
}

/** Gives each example a harness with its own lease, and releases both. */
export async function withExampleWorld(
  { url, home, connection, admin }: RunningBaton,
  example: (world: ExampleWorld) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-examples-'));
  symlinkSync(home, join(folder, '.baton'));
  const harness = await admin.harness.open({ name: 'examples' });
  try {
    const { id: personId } = await admin.principals.create({ kind: 'human', displayName: 'The decider' });
    const made = await admin.tasks.create({ title: 'Try an example', assigneeId: personId });
    const task = await admin.tasks.create({ title: 'Change me' });
    for await (const lease of harness.work({ filter: { assigneeId: personId }, once: true })) {
      if (lease.task.id !== made.id) continue;
      const world = { url, token: connection.adminToken, baton: admin, harness, lease, personId, folder };
      await example({ ...world, task });
      return;
    }
    throw new Error('the task of the example was not claimed');
  } finally {
    await harness.close();
    rmSync(folder, { recursive: true });
  }
}
