import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { repository } from '@baton/testing/baton-process';
import { invocation, programPath } from '../../../bin/invocation.mjs';

const folder = mkdtempSync(join(tmpdir(), 'baton-invocation-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A folder in which npm finds a program `baton`. */
function project(name: string, target: string): string {
  const bin = join(folder, name, 'node_modules', '.bin');
  mkdirSync(bin, { recursive: true });
  symlinkSync(target, join(bin, 'baton'));
  return join(folder, name);
}

const byPath = `node ${programPath}`;

test("messages contain npx only where npm finds this Baton, so that no message runs somebody else's package", () => {
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const stranger = join(folder, 'stranger.mjs');
  writeFileSync(stranger, '');
  const installed = project('installed', programPath);
  mkdirSync(join(installed, 'src', 'deep'), { recursive: true });
  const at = (where: string) => invocation({ folder: where, path: '/usr/bin' });
  assert.equal(at(repository), 'npx baton');
  assert.equal(at(installed), 'npx baton');
  assert.equal(at(join(installed, 'src', 'deep')), 'npx baton');
  assert.equal(at(empty), byPath);
  assert.equal(at(project('another', stranger)), byPath);
  // A package in the folder ends npm's search.
  writeFileSync(join(installed, 'src', 'package.json'), '{"bin":{"baton":"baton.mjs"}}');
  assert.equal(at(join(installed, 'src', 'deep')), byPath);
});

test('a program on the PATH is referred to by its name, if it is this one', () => {
  const bin = (name: string) => join(project(name, programPath), 'node_modules', '.bin');
  const empty = join(folder, 'elsewhere');
  mkdirSync(empty);
  assert.equal(invocation({ folder: empty, path: `/usr/bin:${bin('path')}` }), 'baton');
  assert.equal(invocation({ folder: empty, path: '' }), byPath);
});
