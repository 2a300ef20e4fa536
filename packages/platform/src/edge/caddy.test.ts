// Runs deploy/caddy/Caddyfile as shipped.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../config.ts';
import { testBehindProxy } from '../testing/behind-a-proxy.ts';
import { runProgram } from '../testing/child-program.ts';

const program = '/usr/bin/caddy';

testBehindProxy({
  name: 'Caddy',
  // For a host name, Caddy would request a certificate from a server on the internet.
  scheme: 'http',
  skip: existsSync(program) ? false : `${program} is missing: apt-get install caddy`,
  async start({ port, services }) {
    const config = join(projectRoot, 'deploy/caddy/Caddyfile');
    return runProgram(program, ['run', '--config', config, '--adapter', 'caddyfile'], {
      HOME: services.folder,
      BATON_SITE: `http://127.0.0.1:${port}`,
      BATON_IDENTITY: `127.0.0.1:${services.identityPort}`,
      BATON_COORDINATION: `127.0.0.1:${services.coordinationPort}`,
    });
  },
});
