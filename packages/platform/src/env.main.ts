// baton env: prints shell exports to connect to the Baton of this folder: eval "$(npx baton env)".
import { dirname, join } from 'node:path';
import { findConnection } from '@baton/sdk/node';
import { invocation } from '../../../bin/invocation.mjs';
import { readPlatformSettings } from './config.ts';
import { connectionFile, parseConnection, shellExports } from './connection.ts';
import { readPrivateFile } from './private-files.ts';

try {
  const { BATON_HOME: home } = readPlatformSettings(process.env);
  const path = join(home, connectionFile);
  const isNamed = Object.entries(process.env).some(([name, value]) => /^BATON_HOME$/i.test(name) && value);
  // Where npm installed Baton, the folder is that of whoever made the current one: refused unless it is the user's own.
  if (!isNamed) findConnection({ folders: [dirname(home)] });
  const text = readPrivateFile(path);
  if (text === undefined)
    throw new Error(`There is no ${path}: start Baton first, with ${invocation()} start.`);
  process.stdout.write(shellExports(parseConnection(text, path)));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
