import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fact } from '@baton/kernel/testing/truth/truth';
import { compareTruth } from '@baton/kernel/testing/truth/truth-check';
import { services } from './services.ts';

/** The kernel raises this code if an endpoint requires a key, but a service need not have such an endpoint. */
const kernelCodes = ['idempotency_key_required'];

/** Codes that are returned before an endpoint is found. */
const routeCodes = ['not_found', 'method_not_allowed'];

/**
 * Compares the services' declarations with their behaviour in a whole run of the
 * tests. @param directories the values of `BATON_TRUTH_DIR` during the run, or during each of its shards
 * @returns one line per problem: an error or event that was declared but never produced, a line of the allow-list
 * (truth.allow.json, which may only shrink) that is not needed, or an error that no endpoint can return
 */
export function checkTruth(directories: readonly string[]): string[] {
  const declarations = services.map(({ name, endpoints, pipelineCodesOf }) => ({
    service: name,
    endpoints,
    pipelineCodes: [...new Set([...routeCodes, ...endpoints.flatMap(pipelineCodesOf)])],
  }));
  const allowed = JSON.parse(readFileSync(join(import.meta.dirname, 'truth.allow.json'), 'utf8')) as string[];
  return [...compareTruth(declarations, directories.flatMap(readFacts), allowed), ...deadCodes()];
}

function readFacts(directory: string): Fact[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.jsonl'))
    .flatMap((file) => readFileSync(join(directory, file), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as Fact);
}

function deadCodes(): string[] {
  return services.flatMap(({ name, endpoints, errors, pipelineCodesOf }) => {
    const answered = new Set([
      ...routeCodes,
      ...kernelCodes,
      ...endpoints.flatMap((endpoint) => [...endpoint.errors, ...pipelineCodesOf(endpoint)]),
    ]);
    return Object.keys(errors)
      .filter((code) => !answered.has(code))
      .map((code) => `${name} ${code}: in errors.ts, but no endpoint declares it`);
  });
}
