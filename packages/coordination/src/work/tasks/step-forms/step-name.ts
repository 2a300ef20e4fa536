/**
 * The name that a process step gives its task, with the id `process/<instance>/<element>`
 * (docs/reference/processes.md#forms).
 */
export const processStepName = { externalSystem: 'control-plane', externalType: 'process_step' } as const;

const stepId = /^process\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/(.+))?$/;

/** The instance and the step that a name of this form contains; undefined for any other string. */
export function parseStepName(
  externalId: string,
): { instanceId: string; element: string | null } | undefined {
  const [, instanceId, element = null] = stepId.exec(externalId) ?? [];
  return instanceId === undefined ? undefined : { instanceId, element };
}
