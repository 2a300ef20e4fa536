import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BatonClient, Harness, Lease, Task } from '@baton/sdk';
import type { RunningBaton } from '@baton/testing/running-baton';

/** What the examples of the SDK's doc comments may use: `scripts/sdk/examples.ts` has the same names. */
export interface ExampleWorld {
  readonly url: string;
  readonly token: string;
  readonly baton: BatonClient;
  readonly harness: Harness;
  /** Of a task that `harness` holds. */
  readonly lease: Lease;
  /** One that nobody holds. */
  readonly task: Task;
  /** Who may be asked. */
  readonly personId: string;
  /** Below it is the `.baton` of the Baton that runs. */
  readonly folder: string;
}

/** Gives each example a harness with a lease of its own, and takes both back. */
export async function withExampleWorld(
  { url, home, connection, admin }: RunningBaton,
  example: (world: ExampleWorld) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-examples-'));
  symlinkSync(home, join(folder, '.baton'));
  const harness = await admin.harness.open({ name: 'examples' });
  try {
    const { id: personId } = await admin.principals.create({ kind: 'human', displayName: 'Who is asked' });
    const made = await admin.tasks.create({ title: 'Try an example', assigneeId: personId });
    const task = await admin.tasks.create({ title: 'Change me' });
    for await (const lease of harness.work({ filter: { assigneeId: personId }, once: true })) {
      if (lease.task.id !== made.id) continue;
      const world = { url, token: connection.adminToken, baton: admin, harness, lease, personId, folder };
      await example({ ...world, task });
      return;
    }
    throw new Error('the task of the example was not given');
  } finally {
    await harness.close();
    rmSync(folder, { recursive: true });
  }
}
