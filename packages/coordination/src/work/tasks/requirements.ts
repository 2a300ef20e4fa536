import { z } from 'zod';
import { fail } from '../errors.ts';

const namesMax = 50;
/** Longer than any form below allows, each of which has its own code. */
const nameCharactersMax = 1000;
const roleForm = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const capabilityForm = /^\S(.{0,198}\S)?$/;
const skillForm = /^[^\s@]([^@]{0,198}[^\s@])?(@[^\s@]{1,50})?$/;

/** Roles, capabilities and skills that an executor must have, all of them (organisation, section 9.3). */
export const RequirementsInput = z.strictObject({
  roles: z.array(z.string().max(nameCharactersMax)).max(namesMax).default([]),
  capabilities: z.array(z.string().max(nameCharactersMax)).max(namesMax).default([]),
  skills: z.array(z.string().max(nameCharactersMax)).max(namesMax).default([]),
});

/**
 * Looks up what a task requires. Roles, capabilities and skills come with their registries; until then none is known,
 * and only an empty requirement can be met.
 * @throws Refusal `invalid_requirement` for a malformed name, `unknown_requirement` for one that names nothing
 */
export function resolveRequirements({
  roles,
  capabilities,
  skills,
}: z.infer<typeof RequirementsInput>): void {
  const named = [
    ...roles.map((name) => ({ kind: 'role', name, form: roleForm })),
    ...capabilities.map((name) => ({ kind: 'capability', name, form: capabilityForm })),
    ...skills.map((name) => ({ kind: 'skill', name, form: skillForm })),
  ];
  for (const { kind, name, form } of named)
    if (!form.test(name)) fail('invalid_requirement', { field: kind });
  const [unknown] = named;
  if (unknown !== undefined) fail('unknown_requirement', { [unknown.kind]: unknown.name });
}
