import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { runCommand } from '../testing/run-command.ts';

// Sources that are imported again: after an upgrade, after a change, and by somebody else.

let baton: RunningBaton;
let folder: string;

before(async () => {
  baton = await sharedBaton();
  folder = mkdtempSync(join(tmpdir(), 'baton-sources-'));
});
after(async () => {
  await baton?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Result {
  readonly items: readonly { readonly action: string; readonly taskId: string }[];
  readonly leftOut: readonly { readonly reason: string }[];
}

const run = (args: readonly string[]) => runCommand(args, { HOME: folder, BATON_HOME: baton.home });

test('an import of an older version is not repeated for the fields that it did not support', async () => {
  const file = join(folder, 'older.jsonl');
  writeFileSync(file, '{"id":"older-1","title":"Stay","status":"open"}\n');
  const once = async () => {
    const said = await run(['import', 'beads', file, '--yes', '--json']);
    return (JSON.parse(said.text) as Result).items.map(({ action, taskId }) => [action, taskId]);
  };
  const [[, taskId] = []] = await once();
  const name = { externalSystem: 'beads', externalType: 'issue', externalId: 'older-1' };
  const [reference] = (await baton.admin.externalReferences.list(name)).items;
  const { fields, ...rest } = reference?.metadata as { fields: Record<string, string> };
  const { startDate: _, acceptance: __, ...known } = fields;
  const entity = { entityType: 'task', entityId: taskId ?? '' };
  await baton.admin.externalReferences.put({ ...entity, ...name, metadata: { ...rest, fields: known } });
  assert.deepEqual(await once(), [['unchanged', taskId]]);
});

test('an item that its source defers later is blocked, and an ended task remains ended', async () => {
  const file = join(folder, 'later.csv');
  const once = async (rows: string) => {
    writeFileSync(file, `id,title,status,parent,blocked by\n${rows}`);
    const said = await run(['import', 'csv', file, '--yes', '--json']);
    assert.equal(said.code, 0, said.text);
    const { items, leftOut } = JSON.parse(said.text) as Result;
    const tasks = await Promise.all(items.map(({ taskId }) => baton.admin.tasks.get(taskId)));
    return { statuses: tasks.map(({ status }) => status), reasons: leftOut.map(({ reason }) => reason) };
  };
  assert.deepEqual((await once('1,A,To do,,\n2,B,Done,,\n3,C,Backlog,,\n')).statuses, [
    'todo',
    'done',
    'backlog',
  ]);
  const { statuses, reasons } = await once("1,A,Deferred,,\n2,B,Won't do,,\n3,C,On hold,,\n");
  assert.deepEqual(statuses, ['blocked', 'done', 'blocked']);
  assert.deepEqual(reasons, ['is cancelled in the source, but done here: an ended task is not changed']);
  assert.deepEqual((await once('1,A,To do,,\n2,B,Done,,\n3,C,To do,,\n')).statuses, ['todo', 'done', 'todo']);
});

test('a relation that another agent may not remove does not prevent the rest of its import', async () => {
  const file = join(folder, 'unlinked.jsonl');
  const write = (waits: boolean) =>
    writeFileSync(
      file,
      [
        { id: 'un-1', title: 'First', status: 'open' },
        {
          id: 'un-2',
          title: waits ? 'Second' : 'Second, at once',
          status: 'open',
          dependencies: waits ? [{ on: 'un-1', type: 'blocks' }] : [],
        },
      ]
        .map((issue) => JSON.stringify(issue))
        .join('\n'),
    );
  write(true);
  await run(['import', 'beads', file, '--yes']);
  write(false);
  const agent = await baton.participant(
    ['tasks.read', 'tasks.write', 'task_types.read', 'org.read'],
    'agent',
  );
  const environment = { HOME: folder, BATON_URL: baton.url, BATON_TOKEN: agent.token };
  const said = await runCommand(['import', 'beads', file, '--yes', '--json'], environment);
  assert.equal(said.code, 0, said.text);
  const { items, leftOut } = JSON.parse(said.text) as Result;
  assert.deepEqual(
    leftOut.map(({ reason }) => reason),
    ['relation was removed in the source, and you may not remove it here (depends_on)'],
  );
  assert.equal((await baton.admin.tasks.get(items[1]?.taskId ?? '')).title, 'Second, at once');
});
