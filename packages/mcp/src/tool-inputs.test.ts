import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  leaseIn,
  type McpConnection,
  type Participant,
  type RunningBaton,
  shareRunningBaton,
} from './testing/running-baton.ts';

// Tests the schemas of tools as clients convert them, and the arguments that models write.

let baton: RunningBaton;
before(async () => {
  baton = await shareRunningBaton();
});
after(() => baton.stop());

/**
 * The schema members that Gemini's function declarations support; LangChain's adapter and other clients accept them
 * too.
 */
const portable = [
  ...['type', 'title', 'description', 'enum', 'default', 'properties', 'required', 'items'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'pattern'],
];
const portableTypes = ['string', 'integer', 'number', 'boolean', 'array', 'object'];

interface Schema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/** The members of a schema, at any depth, that Gemini's function declarations don't support. */
function unportableIn(schema: Schema, path: string): string[] {
  const { type, properties = {}, items } = schema;
  const names = Object.keys(schema).filter((name) => !portable.includes(name));
  return [
    ...names.map((name) => `${path} has ${name}`),
    ...(portableTypes.includes(String(type)) && typeof type === 'string'
      ? []
      : [`${path} is ${String(type)}`]),
    ...Object.entries(properties).flatMap(([name, property]) => unportableIn(property, `${path}.${name}`)),
    ...(items === undefined ? [] : unportableIn(items, `${path}[]`)),
  ];
}

test('the schemas of all tools have only what clients of every model take', async () => {
  const mcp = await baton.connect(baton.connection.adminToken, ['--toolsets', 'all']);
  const { tools } = await mcp.client.listTools();
  assert.ok(tools.length >= 17, String(tools.length));
  assert.deepEqual(
    tools.flatMap(({ name, inputSchema }) => unportableIn(inputSchema as Schema, name)),
    [],
  );
  const schemaOf = (tool: string, input: string) =>
    (tools.find(({ name }) => name === tool)?.inputSchema as Schema).properties?.[input];
  for (const [tool, input] of [
    ['work_checkpoint', 'data'],
    ['work_done', 'output'],
  ] as const) {
    const { type, ...others } = schemaOf(tool, input) as Record<string, unknown>;
    assert.deepEqual([type, Object.keys(others)], ['object', ['description']]);
  }
});

interface Working {
  readonly agent: Participant;
  readonly mcp: McpConnection;
  readonly lease: string;
  readonly taskId: string;
}

async function takeTask(): Promise<Working> {
  const agent = await baton.participant();
  const { id: taskId } = await baton.admin.tasks.create({ title: 'data', assigneeId: agent.principalId });
  const mcp = await baton.connect(agent.token);
  return { agent, mcp, taskId, lease: leaseIn(await mcp.call('work_next', { assignedToMe: true })) };
}

const runOf = async (taskId: string) => {
  const [run] = (await baton.admin.runs.list({ taskId })).items;
  assert.ok(run);
  return run;
};

test('an object comes as an object or as its JSON text, with members of every kind', async () => {
  const { mcp, lease, taskId } = await takeTask();
  const data = { files: ['a.ts'], nested: { deep: [1, null, { x: true }] } };
  await mcp.call('work_checkpoint', { lease, note: 'as an object', data });
  await mcp.call('work_checkpoint', { lease, note: 'as a text', data: JSON.stringify(data) });
  const { checkpoints } = await baton.admin.runs.getContext((await runOf(taskId)).id);
  assert.deepEqual(checkpoints.map((checkpoint) => checkpoint.data).toReversed(), [
    { note: 'as an object', ...data },
    { note: 'as a text', ...data },
  ]);
  await mcp.call('work_done', { lease, summary: 'it is done', output: ' {"answer": 42}\n' });
  assert.deepEqual((await runOf(taskId)).output, { summary: 'it is done', answer: 42 });
});

test('a rejection names the field, whether the server or Baton rejects it', async () => {
  const { mcp, lease } = await takeTask();
  for (const data of ['[1]', 'not JSON', 7, [1], null, '"text"'])
    assert.match(
      await mcp.refused('work_checkpoint', { lease, note: 'x', data }),
      /work_checkpoint: data: expected a JSON object/,
    );
  assert.match(
    await mcp.refused('work_done', { lease, summary: 'x', output: 'nothing' }),
    /work_done: output: expected a JSON object/,
  );
  const large = { text: 'x'.repeat(70_000) };
  assert.match(
    await mcp.refused('work_checkpoint', { lease, note: 'x', data: large }),
    /payload_too_large: .*Details: field data; maxBytes 65536; actualBytes 70\d\d\d\./,
  );
  const deep = JSON.parse(`${'{"a":'.repeat(30)}1${'}'.repeat(30)}`);
  assert.match(
    await mcp.refused('work_done', { lease, summary: 'x', output: deep }),
    /payload_too_deep: .*Details: field output; maxDepth 20\./,
  );
  for (const levels of [100, 20_000])
    assert.match(
      await mcp.refused('work_done', {
        lease,
        summary: 'x',
        output: `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`,
      }),
      /work_done: output: expected at most 64 levels/,
    );
  assert.match(
    await mcp.refused('task_create', { title: 'x', type: 'there-is-none' }),
    /Details: .*there-is-none/,
  );
  await mcp.call('work_done', { lease, summary: 'it is done' });
});
