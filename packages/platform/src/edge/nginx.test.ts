// Runs deploy/nginx/baton.conf as shipped, with other ports and another certificate.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { projectRoot } from '../config.ts';
import { testBehindProxy } from '../testing/behind-a-proxy.ts';
import { runProgram } from '../testing/child-program.ts';

const program = '/usr/sbin/nginx';
const withoutOpenssl =
  spawnSync('openssl', ['version']).error === undefined ? false : 'openssl is not installed';

testBehindProxy({
  name: 'nginx',
  scheme: 'https',
  skip: existsSync(program) ? withoutOpenssl : `${program} is missing: apt-get install nginx`,
  async start({ port, services }) {
    const folder = join(services.folder, 'nginx');
    mkdirSync(folder);
    const ca = makeCertificate(folder);
    const shipped = readFileSync(join(projectRoot, 'deploy/nginx/baton.conf'), 'utf8');
    const changes: [string, string][] = [
      ['server 127.0.0.1:8010;', `server 127.0.0.1:${services.identityPort};`],
      ['server 127.0.0.1:8000;', `server 127.0.0.1:${services.coordinationPort};`],
      ['listen 80;', `listen 127.0.0.1:${await freePort()};`],
      ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
      ['/etc/ssl/baton/fullchain.pem', join(folder, 'certificate.pem')],
      ['/etc/ssl/baton/privkey.pem', join(folder, 'key.pem')],
    ];
    let site = shipped;
    for (const [from, to] of changes) {
      assert.ok(site.includes(from), `deploy/nginx/baton.conf has no ${from}`);
      site = site.replace(from, to);
    }
    writeFileSync(join(folder, 'baton.conf'), site);
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, mainConfig(folder));
    return { ca, stop: runProgram(program, ['-c', file, '-g', 'daemon off;'], {}).stop };
  },
});

/** The nginx.conf of a distribution, in a separate folder. */
function mainConfig(folder: string): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `${process.getuid?.() === 0 ? 'user root;' : ''}
    worker_processes 1;
    pid ${join(folder, 'pid')};
    error_log stderr warn;
    events {}
    http {
      access_log off;
      ${paths.map((name) => `${name}_temp_path ${join(folder, name)};`).join('\n')}
      include ${join(folder, 'baton.conf')};
    }`;
}

/** @returns the self-signed certificate */
function makeCertificate(folder: string): string {
  const file = join(folder, 'certificate.pem');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', join(folder, 'key.pem')];
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = spawnSync('openssl', ['req', '-x509', '-nodes', '-days', '2', ...key, '-out', file, ...names]);
  assert.equal(made.status, 0, String(made.stderr));
  return readFileSync(file, 'utf8');
}
