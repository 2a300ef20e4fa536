import { type Coordination, createCoordination } from '@baton/coordination/app/app';
import { startContextAdapter } from '@baton/coordination/app/context-adapter/context-adapter';
import { createMeasures } from '@baton/coordination/app/health/measures';
import { startWorker } from '@baton/coordination/app/worker';
import { createIdentity } from '@baton/identity/app/app';
import { SettingError } from '@baton/kernel/process/config';
import type { Environment } from './config.ts';
import type { RoutedServices } from './router.ts';
import { StartError } from './start-error.ts';

export interface Services extends RoutedServices {
  readonly worker: { close(): Promise<void> };
  readonly contextAdapter: { close(): Promise<void> };
}

/**
 * Starts both services, the worker and the context adapter in this process.
 * @throws SettingError or StartError, after closing the parts that were started
 */
export async function startServices(env: Environment): Promise<Services> {
  const started: { close(): Promise<void> }[] = [];
  const track = <Part extends { close(): Promise<void> }>(part: Part) => {
    started.push(part);
    return part;
  };
  try {
    let coordination: Coordination | undefined;
    const onRevocation = async () => coordination?.refreshRevocations();
    const identity = track(await createIdentity({ env, onRevocation }));
    // Services and worker share one process, so its /metrics includes the worker.
    const measures = createMeasures(true);
    coordination = track(await createCoordination({ env, measures }));
    const worker = track(await startWorker({ env, measures }));
    const contextAdapter = track(await startContextAdapter({ env, measures, isWatched: false }));
    return { identity, coordination, worker, contextAdapter };
  } catch (cause) {
    await Promise.allSettled(started.map((part) => part.close()));
    if (cause instanceof SettingError) throw cause;
    throw new StartError(`Cannot start the services: ${(cause as Error).message}`, { cause });
  }
}

/**
 * The loopback addresses that the services may reach: only Baton's own port. Other programs on this machine may trust
 * loopback connections, and the addresses of providers and connection types are API input.
 */
export function ownHosts(localUrl: string): string[] {
  const { hostname, port } = new URL(localUrl);
  return [...new Set([hostname, 'localhost'])].map((name) => `${name}:${port || '80'}`);
}

/**
 * The services' environment: the user's, completed by the default run's settings.
 * @param defaults settings by name; those that the user has set are left out
 */
export function serviceEnvironment(
  env: Environment,
  defaults: Readonly<Record<string, string>>,
): Environment {
  const given = new Set(
    Object.keys(env)
      .filter((name) => (env[name] ?? '') !== '')
      .map((name) => name.toUpperCase()),
  );
  const ownKey = ['IAM_SIGNING_KEY_FILE', 'IAM_SIGNING_PRIVATE_KEY', 'IAM_SIGNING_PRIVATE_KEY_FILE'];
  const hasOwnKey = ownKey.some((name) => given.has(name));
  // Both services need the same credential, so if it is set for one of them, the default is omitted for both.
  const delegation = ['IAM_DELEGATION_CREDENTIAL_FILE', 'CP_IDENTITY_ADMIN_CREDENTIAL_FILE'];
  const hasOwnDelegation = delegation.some((name) => given.has(name));
  const isLeftOut = (name: string) =>
    given.has(name) ||
    (hasOwnKey && name.startsWith('IAM_SIGNING_')) ||
    (hasOwnDelegation && delegation.includes(name));
  return { ...env, ...Object.fromEntries(Object.entries(defaults).filter(([name]) => !isLeftOut(name))) };
}
