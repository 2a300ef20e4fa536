// Reports the source of npm's packages to a waiting person: npm prints nothing for minutes while its registry does not
// respond.
import { execFile } from 'node:child_process';
import { connect } from 'node:net';

/** An installation from npm's cache has finished by then. */
const patienceMs = 1500;
/** Both together end within 5 seconds of the start. */
const askNpmMsMax = 1000;
const connectMsMax = 1500;
const usualRegistry = 'https://registry.npmjs.org/';
const proxySettings = [
  'npm_config_https_proxy',
  'npm_config_proxy',
  'HTTPS_PROXY',
  'https_proxy',
  'HTTP_PROXY',
];

/**
 * Reports once, if the installation takes longer, which address npm waits for, and whether it can be reached.
 * @param folder where npm installs; its configuration may name another registry
 * @param say prints one line
 * @returns a function that ends this
 */
export function reportSource(folder, say) {
  let isOver = false;
  const report = async () => {
    const registry = await registryOf(folder);
    const proxy = proxySettings.map((name) => process.env[name]).find((value) => value);
    const problem = await connectionProblem(proxy ?? registry);
    if (isOver) return;
    const through = proxy === undefined ? '' : ` through the proxy ${withoutPassword(proxy)}`;
    say(
      problem === undefined
        ? `npm gets the packages from ${registry}${through}; waiting for it ...`
        : `npm waits for ${registry}${through}, which can't be reached (${problem}). Baton needs a network the first time, to install its packages. npm tries again for a minute or two, then fails; Ctrl-C stops it now. HTTPS_PROXY names a proxy, npm_config_registry another registry.`,
    );
  };
  const timer = setTimeout(() => void report(), patienceMs);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

function registryOf(folder) {
  const { npm_config_registry: given } = process.env;
  if (given) return Promise.resolve(withoutPassword(given));
  return new Promise((resolve) => {
    const options = { cwd: folder, timeout: askNpmMsMax, shell: process.platform === 'win32' };
    execFile('npm', ['config', 'get', 'registry'], options, (error, output) => {
      const found = error === null ? output.trim() : '';
      resolve(URL.canParse(found) ? withoutPassword(found) : usualRegistry);
    });
  });
}

/** Why no connection to the host of this URL opens; undefined when one does. */
function connectionProblem(url) {
  return new Promise((resolve) => {
    if (!URL.canParse(url)) return resolve(undefined);
    const { hostname, port, protocol } = new URL(url);
    const socket = connect(
      Number(port) || (protocol === 'http:' ? 80 : 443),
      hostname.replace(/^\[|\]$/g, ''),
    );
    const end = (problem) => {
      socket.destroy();
      clearTimeout(timer);
      resolve(problem);
    };
    // Not the socket's own timeout, which does not cover the look-up of the name.
    const timer = setTimeout(() => end('no answer'), connectMsMax);
    socket.on('connect', () => end(undefined));
    socket.on('error', (error) => end(error.code ?? error.message));
  });
}

function withoutPassword(url) {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (parsed.username === '' && parsed.password === '') return url;
  parsed.username = '';
  parsed.password = '';
  return parsed.href;
}
