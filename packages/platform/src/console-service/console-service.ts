import type { IncomingMessage } from 'node:http';
import { createConsole } from '@baton/console/server';
import { clientAddressOf } from '@baton/kernel/listener/client-address';
import { clientOfAddress } from '@baton/kernel/listener/counted-address';
import { SettingError } from '@baton/kernel/process/config';
import { fetchTransport, type Transport } from '@baton/sdk';
import type { Environment } from '../config.ts';
import { readOriginPolicy } from '../config.ts';
import { consoleSignIn } from '../console-sign-in.ts';
import { everyAddress, reachableUrls } from '../own-addresses.ts';
import { openRouter } from '../router.ts';
import { ownHosts } from '../services.ts';
import { forwardTo } from './forward.ts';
import { type ConsoleServiceSettings, readConsoleServiceSettings } from './settings.ts';

/** The console on its own port, in front of services on other hosts. */
export interface ConsoleService {
  /** The URL for browsers. */
  readonly url: string;
  /** URLs for browsers on other machines; empty if it listens on one address. */
  readonly reachableUrls: readonly string[];
  /** Finishes requests in progress, then closes the port. */
  close(): Promise<void>;
}

const drainMsMax = 10_000;

/**
 * Serves the console and forwards the requests of its pages to the services, so that browsers need only one address.
 * @throws SettingError or StartError
 */
export async function startConsoleService(
  env: Environment,
  say: (line: string) => void,
): Promise<ConsoleService> {
  const settings = readConsoleServiceSettings(env);
  for (const name of ['BATON_COORDINATION_URL', 'BATON_IDENTITY_URL', 'BATON_CONSOLE_PUBLIC_URL'] as const)
    if (settings[name] !== '' && (!/^https?:\/\//i.test(settings[name]) || !URL.canParse(settings[name])))
      throw new SettingError(name, 'must be an http or https URL.');
  const { BATON_CONSOLE_PUBLIC_URL: ownUrl, BATON_CONSOLE_TRUSTED_PROXIES: trusted, HOST, PORT } = settings;
  const router = await openRouter(HOST, PORT, readOriginPolicy({ ...settings, IAM_PUBLIC_URL: ownUrl }), {
    allowed: settings.BATON_MANAGEMENT_NETWORKS,
    proxies: trusted,
    proxiesSetting: 'BATON_CONSOLE_TRUSTED_PROXIES',
    hasMetricsToken: false,
  });
  const host = everyAddress.includes(HOST) ? '127.0.0.1' : HOST;
  const url =
    ownUrl.replace(/\/+$/, '') || `http://${host.includes(':') ? `[${host}]` : host}:${router.port}`;
  try {
    const signIn = configureSignIn(settings, url, say);
    const coordination = forwardTo(settings.BATON_COORDINATION_URL, trusted);
    const identity = forwardTo(settings.BATON_IDENTITY_URL, trusted);
    const page = createConsole({
      ...(signIn && { signIn }),
      url: settings.BATON_COORDINATION_URL,
      transport: (req) => onBehalfElsewhere(settings, req),
      countedAs: (req) => clientOfAddress(clientAddressOf(req, trusted)),
      cache: settings.cache,
      isSecure: url.startsWith('https:'),
      say,
    });
    router.routeTo({ identity, coordination, console: page });
    router.markReady();
    return {
      url,
      reachableUrls: reachableUrls(HOST, router.port),
      async close() {
        await router.drain(drainMsMax);
        router.close();
        await Promise.all([identity.close(), coordination.close()]);
      },
    };
  } catch (error) {
    await router.drain(0);
    router.close();
    throw error;
  }
}

/** Sends identity requests with the browser's address, like the page's own requests. */
function onBehalfElsewhere(settings: ConsoleServiceSettings, browser: IncomingMessage): Transport {
  const address = clientAddressOf(browser, settings.BATON_CONSOLE_TRUSTED_PROXIES);
  return (request) =>
    fetchTransport({
      ...request,
      url: request.url.replace(`${settings.BATON_COORDINATION_URL}/iam`, settings.BATON_IDENTITY_URL),
      headers: { ...request.headers, 'x-forwarded-for': address },
    });
}

function configureSignIn(
  settings: ConsoleServiceSettings,
  publicUrl: string,
  say: (line: string) => void,
): ReturnType<typeof consoleSignIn> {
  const needed = ['BATON_CONSOLE_TENANT_ID', 'IAM_BOOTSTRAP_TOKEN'] as const;
  const missing = needed.find((name) => settings[name] === '');
  if (missing !== undefined && settings.BATON_CONSOLE_PROVIDERS.length === 0) return undefined;
  if (missing !== undefined) throw new SettingError(missing, 'is required with BATON_CONSOLE_PROVIDERS.');
  return consoleSignIn(settings, {
    tenantId: settings.BATON_CONSOLE_TENANT_ID,
    adminSecret: settings.IAM_BOOTSTRAP_TOKEN,
    coordinationUrl: settings.BATON_COORDINATION_URL,
    identityUrl: settings.BATON_IDENTITY_URL,
    allowedHosts: ownHosts(settings.BATON_IDENTITY_URL),
    publicUrl,
    say,
  });
}
