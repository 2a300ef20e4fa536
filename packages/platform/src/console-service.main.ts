// baton console serve: the console on a port of its own, for services that run elsewhere.
import { SettingError } from '@baton/kernel/process/config';
import { startConsoleService } from './console-service/console-service.ts';
import { StartError } from './start-error.ts';

const ending = Promise.withResolvers<void>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ending.resolve());

try {
  const service = await startConsoleService(process.env, (line) => console.log(line));
  console.log(
    `The console is at ${service.url}; people sign in with a personal access token. Ctrl-C stops it.`,
  );
  if (service.reachableUrls.length > 0)
    console.log(`From other machines it is at ${service.reachableUrls.join(', ')}.`);
  await ending.promise;
  await service.close();
} catch (error) {
  if (!(error instanceof StartError || error instanceof SettingError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
// A handle that a library left open must not keep a stopped console alive.
process.exit();
