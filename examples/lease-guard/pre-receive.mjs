#!/usr/bin/env node
// A git pre-receive hook: only the holder of a task's lease may push to the task's branch.
//
// The push has the options baton-claim, baton-token and baton-access-token (README.md).
import { readFileSync } from 'node:fs';
import { LeaseGuard, Refused } from './guard.mjs';

const branches = 'refs/heads/task/';
const { BATON_URL: url, BATON_TOKEN_FILE: tokenFile, GIT_DIR: gitDir = '.' } = process.env;

/** The options of the push, such as `-o name=value`. */
function pushOption(name) {
  const count = Number(process.env.GIT_PUSH_OPTION_COUNT ?? 0);
  for (let n = 0; n < count; n += 1) {
    const option = process.env[`GIT_PUSH_OPTION_${n}`] ?? '';
    if (option.startsWith(`${name}=`)) return option.slice(name.length + 1);
  }
  return undefined;
}

try {
  // Each line: the old commit, the new one, the ref.
  const lines = readFileSync(0, 'utf8').split('\n');
  const pushed = lines.map((line) => line.split(' ')[2] ?? '').filter((ref) => ref.startsWith(branches));
  if (pushed.length > 0) {
    if (!url || !tokenFile)
      throw new Refused('This server is not set up: set BATON_URL and BATON_TOKEN_FILE.', 503);
    const guard = new LeaseGuard({ url, tokenFile, folder: gitDir });
    const { taskId } = await guard.check(
      pushOption('baton-claim'),
      pushOption('baton-token'),
      pushOption('baton-access-token'),
    );
    const publicId = await guard.publicIdOf(taskId);
    // A lease on one task opens no branch of another.
    const other = pushed.find(
      (ref) => ref !== branches + publicId && !ref.startsWith(`${branches}${publicId}-`),
    );
    if (other !== undefined)
      throw new Refused(`${other} is not a branch of ${publicId}, whose lease was named.`);
  }
} catch (error) {
  console.error(
    error instanceof Refused
      ? `Baton: ${error.message}`
      : `Baton: the push was not checked: ${error.message}`,
  );
  process.exitCode = 1;
}
