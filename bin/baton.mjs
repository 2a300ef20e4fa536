#!/usr/bin/env node
// The command `baton`: npx baton start, npx baton demo, npx baton --help.
import { join } from 'node:path';
import { runFile } from './foreground.mjs';
import { root } from './prepare.mjs';

/** The parts that are programs of their own; every other word belongs to the command line in packages/cli. */
const programs = [
  { word: 'start', file: 'packages/platform/src/start.main.ts' },
  { word: 'env', file: 'packages/platform/src/env.main.ts' },
  { word: 'identity', file: 'packages/identity/src/main.ts' },
  { word: 'coordination', file: 'packages/coordination/src/main.ts' },
  { word: 'worker', file: 'packages/coordination/src/worker.main.ts' },
];

const args = process.argv.slice(2);
const program = programs.find(({ word }) => word === args[0]);
const file = program?.file ?? 'packages/cli/src/main.ts';
await runFile(join(root, file), program === undefined ? args : args.slice(1));
