// baton env: prints shell exports to connect to the Baton of this folder: eval "$(npx baton env)".
import { join } from 'node:path';
import { readPlatformSettings } from './config.ts';
import { connectionFile, parseConnection, shellExports } from './connection.ts';
import { readPrivateFile } from './private-files.ts';

try {
  const path = join(readPlatformSettings(process.env).BATON_HOME, connectionFile);
  const text = readPrivateFile(path);
  if (text === undefined) throw new Error(`There is no ${path}: start Baton first, with npx baton start.`);
  process.stdout.write(shellExports(parseConnection(text, path)));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
