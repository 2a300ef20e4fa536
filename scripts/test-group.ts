// node --test-reporter=scripts/test-reporter.ts scripts/test-group.ts FILE ...: runs test files one after another in
// this process, each as a suite that is named by its path.
import { once } from 'node:events';
import { resolve } from 'node:path';
import { describe } from 'node:test';
import { suiteEnds } from './test-reporter.ts';

for (const file of process.argv.slice(2)) {
  const ended = once(suiteEnds, file);
  describe(file, async () => {
    // The leak test's records are stored under this name.
    process.argv[1] = file;
    await import(resolve(file));
  });
  await ended;
}
