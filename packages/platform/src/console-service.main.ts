// baton console serve: the console on its own port, for services on other hosts.
import { SettingError } from '@baton/kernel/process/config';
import { startConsoleService } from './console-service/console-service.ts';
import { StartError } from './start-error.ts';

const stopped = Promise.withResolvers<void>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopped.resolve());

try {
  const service = await startConsoleService(process.env, (line) => console.log(line));
  console.log(`Console ready at ${service.url}. Sign in with a personal access token. Press Ctrl-C to stop.`);
  if (service.reachableUrls.length > 0)
    console.log(`Available to other machines at ${service.reachableUrls.join(', ')}.`);
  await stopped.promise;
  await service.close();
} catch (error) {
  if (!(error instanceof StartError || error instanceof SettingError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
// A handle left open by a library must not keep a stopped console alive.
process.exit();
