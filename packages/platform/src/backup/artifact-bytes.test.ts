import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { draftOf } from '../home-parts.ts';
import { privateFolder } from '../testing/private-folder.ts';
import { artifactFiles, artifactSettingOutside, draftArtifactFiles } from './artifact-bytes.ts';
import { settingsOutside } from './contents.ts';

let folder: ReturnType<typeof privateFolder>;
beforeEach(() => {
  folder = privateFolder();
});
afterEach(() => folder.remove());

async function namesIn(home: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, sizeBytes, read } of artifactFiles(home)) {
    let bytes = 0;
    for await (const chunk of read()) bytes += chunk.length;
    assert.equal(bytes, sizeBytes);
    names.push(name);
  }
  return names.sort();
}

test('all objects are copied except unfinished uploads and objects newer than the databases', async () => {
  assert.deepEqual(await namesIn(folder.path), []);
  const place = join(folder.path, 'contents/tenant/0a');
  mkdirSync(place, { recursive: true });
  for (const name of ['one', 'two', 'three.part', 'later']) writeFileSync(join(place, name), name);
  const inAnHour = Date.now() / 1000 + 3600;
  utimesSync(join(place, 'later'), inAnHour, inAnHour);
  assert.deepEqual(await namesIn(folder.path), ['contents/tenant/0a/one', 'contents/tenant/0a/two']);
  // An object that is deleted during the copy.
  const seen = [];
  for await (const { name } of artifactFiles(folder.path)) {
    seen.push(name);
    for (const other of ['one', 'two']) rmSync(join(place, other), { force: true });
  }
  assert.equal(seen.length, 1);
});

test('restored objects replace the existing ones, even if the backup has none', () => {
  const own = join(folder.path, 'own');
  mkdirSync(join(own, 'contents/tenant'), { recursive: true });
  writeFileSync(join(own, 'contents/tenant/one'), '1');
  draftArtifactFiles(folder.path, own);
  const draft = draftOf(folder.path, 'contents');
  assert.equal(readFileSync(join(draft, 'tenant/one'), 'utf8'), '1');
  assert.equal(statSync(draft).mode & 0o777, 0o700);
  rmSync(draft, { recursive: true });
  draftArtifactFiles(folder.path, own);
  assert.ok(existsSync(draft));
});

test('a store outside of the folder is named by its setting', () => {
  const outside = (env: Record<string, string>) => artifactSettingOutside(env, '/home/baton');
  assert.equal(outside({}), undefined);
  assert.equal(outside({ CP_ARTIFACT_FOLDER: '/home/baton/contents/' }), undefined);
  assert.equal(outside({ CP_ARTIFACT_FOLDER: '/srv/contents' }), 'CP_ARTIFACT_FOLDER');
  assert.equal(
    outside({ CP_ARTIFACT_FOLDER: '', CP_S3_ENDPOINT_URL: 'https://s3.example' }),
    'CP_S3_ENDPOINT_URL',
  );
  assert.equal(outside({ cp_s3_endpoint_url: 'https://s3.example' }), 'CP_S3_ENDPOINT_URL');
});

test('files that settings name outside of the folder are listed, however the settings are spelled', () => {
  const here = import.meta.filename;
  const env = {
    iam_signing_key_file: here,
    CP_other_FILE: here,
    IAM_AUDIT_HEAD_FILE: here,
    IAM_NONE_FILE: '/none',
  };
  assert.deepEqual(settingsOutside(env, folder.path), ['CP_OTHER_FILE', 'IAM_SIGNING_KEY_FILE']);
});
