// baton env: prints shell exports with the connection details of the Baton in this folder: eval "$(npx baton env)".
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
  // In an npm installation, anyone may have created the current folder, so it is rejected unless the user owns it.
  if (!isNamed) findConnection({ folders: [dirname(home)] });
  const text = readPrivateFile(path);
  if (text === undefined)
    throw new Error(`${path} does not exist. Start Baton first, with ${invocation()} start.`);
  process.stdout.write(shellExports(parseConnection(text, path)));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
