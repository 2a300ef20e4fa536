#!/usr/bin/env node
// node bin/run.mjs FILE.ts [arguments]: runs a TypeScript file of this checkout on a machine with npm and any Node
// from 20 up; installs what is missing first.
import { resolve } from 'node:path';
import { runFile } from './foreground.mjs';

const [file, ...args] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('Usage: node bin/run.mjs FILE.ts [arguments]\n');
  process.exitCode = 2;
} else {
  await runFile(resolve(file), args);
}
