import { endpointName, type Operation } from '../../http/service.ts';
import type { Fact } from './truth.ts';

export interface Declarations {
  readonly service: string;
  readonly endpoints: readonly Operation[];
  /** The codes that no endpoint declares, because the pipeline returns them before the handler runs. */
  readonly pipelineCodes: readonly string[];
}

/**
 * Finds declared facts that never occurred, and entries of the allow-list that did. @param allowed facts that may be
 * missing for now, in the format of a problem: `identity POST /tenants tenant_id_exists`
 * @returns one line per problem; none when declarations and facts agree
 */
export function compareTruth(
  declarations: readonly Declarations[],
  facts: readonly Fact[],
  allowed: readonly string[],
): string[] {
  const seen = new Set(
    facts.flatMap(({ service, endpoint, name }) => [`${service} ${name}`, `${service} ${endpoint} ${name}`]),
  );
  const declared = new Set(declarations.flatMap(declaredFacts));
  const excused = new Set(allowed);
  return [
    ...[...declared]
      .filter((fact) => !seen.has(fact) && !excused.has(fact))
      .map((fact) => `${fact}: declared, but no test produced it`),
    ...allowed
      .filter((fact) => seen.has(fact) || !declared.has(fact))
      .map((fact) => `${fact}: hooray, delete this line from the allow-list`),
  ];
}

function declaredFacts({ service, endpoints, pipelineCodes }: Declarations): string[] {
  const own = endpoints.flatMap((endpoint) =>
    [...endpoint.errors, ...endpoint.emits.map((event) => event.type)].map(
      (name) => `${service} ${endpointName(endpoint)} ${name}`,
    ),
  );
  return [...own, ...pipelineCodes.map((code) => `${service} ${code}`)];
}
