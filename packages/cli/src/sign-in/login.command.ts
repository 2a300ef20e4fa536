import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { type Command, Option } from 'commander';
import open from 'open';
import { visible } from '@baton/sdk/node';
import { invocation } from '../../../../bin/invocation.mjs';
import { findAccess, ofUrl, withClient } from '../access.ts';
import { type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { exitCodes } from '../error-text.ts';
import { PlainError } from '../plain-error.ts';
import { type ProfileGrant, readProfiles, writeProfiles } from '../profiles.ts';
import { fieldsNamed } from '../result-form.ts';
import { show, table } from '../show.ts';
import { findAuthorizationServer } from './authorization-server.ts';
import { type DeviceCode, signInByBrowser, signInByDevice } from './browser-sign-in.ts';
import { grantOf, revokeGrant } from './profile-grant.ts';

const localUrl = 'http://localhost:8080';
const tokenCharactersMax = 8_192;

/** `baton login`, `logout` and `context`: the account of the commands. */
export function addSignIn(program: Command, context: CommandContext): void {
  withCommonOptions(
    program
      .command('login')
      .description('sign in through the browser, or with a personal access token from standard input'),
    fieldsNamed('name', 'url', 'principal', 'tenant'),
  )
    .option('--name <name>', 'the name of the profile; the host of the address by default')
    .addOption(
      new Option('--device', 'show a code to enter in a browser on another machine').conflicts('token'),
    )
    .addOption(
      new Option('--token', 'with a personal access token, from a prompt or standard input').conflicts(
        'device',
      ),
    )
    .option('--no-browser', 'print the address of the sign-in page without opening it')
    .action((options: LoginOptions) => logIn(options, context));
  withCommonOptions(
    program.command('logout [name]').description('delete a profile with its token'),
    fieldsNamed('name'),
  ).action((name: string | undefined, options: CommonOptions) => logOut(name, options, context));
  withCommonOptions(
    program
      .command('context [name]')
      .description('list the profiles, or use another; `local` is the Baton of this machine'),
    fieldsNamed('profiles', 'source'),
  ).action((name: string | undefined, options: CommonOptions) => useContext(name, options, context));
}

interface LoginOptions extends CommonOptions {
  readonly name?: string;
  readonly device?: boolean;
  readonly token?: boolean;
  readonly browser: boolean;
}

async function logIn(options: LoginOptions, context: CommandContext): Promise<void> {
  const url = (options.url ?? (context.config.environment.BATON_URL || localUrl)).replace(/\/+$/, '');
  if (options.name === 'local')
    throw new PlainError('`local` is the Baton of this machine: choose another --name.', {
      exitCode: exitCodes.usage,
    });
  const signedIn = await signIn(url, options, context);
  const name = options.name ?? new URL(url).host;
  const { principal, tenant } = await store(name, url, signedIn, context);
  await show(context.output, options, { name, url, principal: principal.id, tenant: tenant.id }, () => [
    `Signed in at ${url} as ${principal.displayName} (tenant ${tenant.slug}); the profile is ${name}.`,
    ...shadowNotes(name, context),
  ]);
}

/**
 * Stores a sign-in after a first call with it has succeeded. A sign-in that can't be stored, or that this one replaces,
 * is ended on the server: otherwise it would remain, unused, among the person's connected programs.
 */
async function store(name: string, url: string, signedIn: SignedIn, { config }: CommandContext) {
  const given = signedIn.token ?? { accessToken: async () => accessOf(signedIn.grant) };
  try {
    const me = await withClient(ofUrl(url, given, 'login'), (baton) => baton.harness.getContext());
    const { profiles } = readProfiles(config);
    writeProfiles(config, { current: name, profiles: { ...profiles, [name]: { url, ...signedIn } } });
    const replaced = profiles[name]?.grant;
    if (replaced !== undefined) await revokeGrant(replaced);
    return me;
  } catch (error) {
    if (signedIn.grant !== undefined) await revokeGrant(signedIn.grant);
    throw error;
  }
}

type SignedIn =
  | { readonly token: string; readonly grant?: undefined }
  | { readonly grant: ProfileGrant; readonly token?: undefined };

/** Signs in with a token from a pipe, with a code for another machine, or through the browser of this machine. */
async function signIn(url: string, options: LoginOptions, { config }: CommandContext): Promise<SignedIn> {
  const isPiped =
    !process.stdin.isTTY && options.device !== true && options.token !== true && options.browser;
  if (options.token === true || isPiped) return { token: await readToken(url) };
  const server = await findAuthorizationServer(url);
  if (server === undefined) {
    if (options.device === true)
      throw new PlainError(`${url} doesn't offer sign-in through the browser. Use --token.`);
    return { token: await readToken(url) };
  }
  const tokens =
    options.device === true || (options.browser && !hasBrowser(config))
      ? await signInByDevice(server, showCode)
      : await signInByBrowser(server, (address) => showAddress(address, options.browser));
  return { grant: grantOf(server.tokenEndpoint, tokens) };
}

function accessOf({ accessToken, expiresAtMs }: ProfileGrant) {
  return { accessToken, expiresIn: Math.floor((expiresAtMs - Date.now()) / 1000) };
}

/** Without a display, as in an SSH session, no browser can be opened. */
function hasBrowser({ environment }: CommandContext['config']): boolean {
  const { DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION } = environment;
  if (SSH_CONNECTION) return false;
  return process.platform !== 'linux' || Boolean(DISPLAY || WAYLAND_DISPLAY);
}

async function showCode({ userCode, page, pageWithCode }: DeviceCode): Promise<void> {
  process.stderr.write(
    `Open ${visible(page)} in a browser on any machine and enter the code ${visible(userCode)}, or open\n${visible(pageWithCode)}\nWaiting…\n`,
  );
}

async function showAddress(address: string, isOpened: boolean): Promise<void> {
  process.stderr.write(`Sign in with your browser:\n${visible(address)}\nWaiting…\n`);
  if (isOpened) await open(address).catch(() => undefined);
}

/** Reports environment variables that override the profile of the next command. */
function shadowNotes(name: string, { config }: CommandContext): string[] {
  const { BATON_TOKEN, BATON_URL, BATON_PROFILE } = config.environment;
  const other = BATON_TOKEN
    ? 'BATON_TOKEN'
    : BATON_URL
      ? 'BATON_URL'
      : BATON_PROFILE
        ? 'BATON_PROFILE'
        : undefined;
  if (other === undefined || (other === 'BATON_PROFILE' && BATON_PROFILE === name)) return [];
  return [`Commands use ${other} from the environment instead. Unset it, or pass --profile ${name}.`];
}

async function logOut(
  name: string | undefined,
  options: CommonOptions,
  context: CommandContext,
): Promise<void> {
  const { current, profiles } = readProfiles(context.config);
  const gone = name ?? current;
  if (gone === undefined || profiles[gone] === undefined)
    throw new PlainError(gone === undefined ? 'No profile is in use.' : `There is no profile ${gone}.`);
  const { [gone]: _gone, ...rest } = profiles;
  writeProfiles(context.config, { current: current === gone ? undefined : current, profiles: rest });
  const { grant } = profiles[gone];
  const isEnded = grant !== undefined && (await revokeGrant(grant));
  await show(context.output, options, { name: gone }, () => [
    isEnded
      ? `Removed the profile ${gone}, and ended its sign-in.`
      : `Removed the profile ${gone}. Its token remains valid; revoke it with ${invocation()} token revoke.`,
  ]);
}

async function useContext(
  name: string | undefined,
  options: CommonOptions,
  context: CommandContext,
): Promise<void> {
  const { current, profiles } = readProfiles(context.config);
  if (name !== undefined) {
    if (name !== 'local' && profiles[name] === undefined)
      throw new PlainError(`There is no profile ${name}. Create one with ${invocation()} login.`);
    writeProfiles(context.config, { current: name === 'local' ? undefined : name, profiles });
  }
  const used = name === 'local' ? undefined : (name ?? current);
  const known = Object.entries(profiles).map(([one, { url }]) => ({
    name: one,
    url,
    isCurrent: one === used,
  }));
  const source = sourceOf(options, context);
  await show(context.output, options, { profiles: known, source }, () => [
    ...table(
      ['', 'PROFILE', 'ADDRESS'],
      known.map((one) => [one.isCurrent ? '*' : '', one.name, one.url]),
      undefined,
      `No profiles. Create one with ${invocation()} login.`,
    ),
    `Commands use: ${source ?? 'nothing, nobody is signed in'}.`,
  ]);
}

function sourceOf(options: CommonOptions, { config }: CommandContext): string | undefined {
  try {
    return findAccess(options, config).source;
  } catch (error) {
    if (error instanceof PlainError) return undefined;
    throw error;
  }
}

/**
 * Reads the token from the terminal without an echo, or from all of standard input; never from an argument, which every
 * account on the machine can read.
 */
async function readToken(url: string): Promise<string> {
  const token = process.stdin.isTTY ? await askForToken(url) : await readInput();
  if (token === '' || token.length > tokenCharactersMax)
    throw new PlainError(
      `No token was given. The operator of Baton can create one with ${invocation()} token create.`,
      {
        exitCode: exitCodes.usage,
      },
    );
  return token;
}

function askForToken(url: string): Promise<string> {
  process.stderr.write(`Personal access token for ${url}: `);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  return new Promise((resolve) => {
    lines.once('line', (line) => {
      resolve(line.trim());
      lines.close();
    });
    lines.once('close', () => {
      process.stderr.write('\n');
      resolve('');
    });
  });
}

async function readInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > tokenCharactersMax) break;
  }
  return text.trim();
}
