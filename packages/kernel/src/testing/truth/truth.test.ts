// Needs its own process: it replaces the observer of the process.

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { defineEvent, endpointsOf } from '../../http/service.ts';
import { observer } from '../../process/observer.ts';
import { type Fact, recordTruth } from './truth.ts';
import { compareTruth } from './truth-check.ts';

const endpoint = endpointsOf<{ code: string; permission: string; auth: string; context: object }>();
const openDoor = endpoint({
  id: 'openDoor',
  method: 'POST',
  path: '/doors/{id}:open',
  summary: 'Open a door.',
  params: { id: z.string() },
  returns: { 200: z.strictObject({}) },
  errors: ['door_locked'],
  emits: [defineEvent('door.opened', 'door', z.strictObject({}))],
  handle: () => ({}),
});

test('what was produced is written once each, and an event that is not declared fails', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-truth-'));
  const before = process.env.BATON_TRUTH_DIR;
  process.env.BATON_TRUTH_DIR = directory;
  try {
    const violations = recordTruth('doors', [openDoor]);
    const name = 'POST /doors/{id}:open';
    for (let time = 0; time < 2; time += 1) {
      observer()?.refused('doors', name, 'door_locked');
      observer()?.emitted('doors', name, 'door.opened');
      observer()?.emitted('doors', 'worker', 'door.rusted');
    }
    assert.throws(() => observer()?.emitted('doors', name, 'door.painted'), /does not declare/);
    assert.deepEqual(violations.splice(0), [
      'doors: POST /doors/{id}:open emitted door.painted, which it does not declare',
    ]);
    const [file = '', ...others] = await readdir(directory);
    assert.deepEqual(others, []);
    const lines = (await readFile(join(directory, file), 'utf8')).trim().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      [
        { service: 'doors', endpoint: name, kind: 'error', name: 'door_locked' },
        { service: 'doors', endpoint: name, kind: 'event', name: 'door.opened' },
        { service: 'doors', endpoint: 'worker', kind: 'event', name: 'door.rusted' },
      ],
    );
  } finally {
    if (before === undefined) delete process.env.BATON_TRUTH_DIR;
    else process.env.BATON_TRUTH_DIR = before;
    await rm(directory, { recursive: true });
  }
});

test('what is declared and never produced is a problem, and so is an excuse that is not needed', () => {
  const declarations = [{ service: 'doors', endpoints: [openDoor], pipelineCodes: ['not_found'] }];
  const name = 'POST /doors/{id}:open';
  const facts: Fact[] = [
    { service: 'doors', endpoint: name, kind: 'event', name: 'door.opened' },
    { service: 'doors', endpoint: 'GET (no route)', kind: 'error', name: 'not_found' },
  ];
  const locked = `doors ${name} door_locked`;
  assert.deepEqual(compareTruth(declarations, facts, []), [`${locked}: declared, but no test produced it`]);
  assert.deepEqual(compareTruth(declarations, facts, [locked]), []);
  const hooray = 'hooray, delete this line from the allow-list';
  const produced: Fact = { service: 'doors', endpoint: name, kind: 'error', name: 'door_locked' };
  assert.deepEqual(compareTruth(declarations, [...facts, produced], [locked]), [`${locked}: ${hooray}`]);
  assert.deepEqual(compareTruth(declarations, [...facts, produced], ['doors closed']), [
    `doors closed: ${hooray}`,
  ]);
});
