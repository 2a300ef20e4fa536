#!/usr/bin/env node
// The command `baton`: npx baton start, npx baton demo, npx baton --help.
import { join } from 'node:path';
import { runFile } from './foreground.mjs';
import { root } from './prepare.mjs';

/** The parts that are programs of their own; every other word belongs to the command line in packages/cli. */
const programs = [
  { words: ['start'], file: 'packages/platform/src/start.main.ts' },
  { words: ['env'], file: 'packages/platform/src/env.main.ts' },
  { words: ['identity', 'serve'], file: 'packages/identity/src/main.ts' },
  { words: ['coordination'], file: 'packages/coordination/src/main.ts' },
  { words: ['worker'], file: 'packages/coordination/src/worker.main.ts' },
];

const args = process.argv.slice(2);
const program = programs.find(({ words }) => words.every((word, index) => args[index] === word));
await runFile(
  join(root, program?.file ?? 'packages/cli/src/main.ts'),
  args.slice(program?.words.length ?? 0),
);
