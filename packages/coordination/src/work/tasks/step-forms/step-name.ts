/** The name of a task by its process step, whose id is `process/<instance>/<element>` (organisation, section 15.4). */
export const processStepName = { externalSystem: 'control-plane', externalType: 'process_step' } as const;

const stepId = /^process\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\/(.+))?$/;

/** The instance and the step in such a name; undefined for any other text. */
export function parseStepName(
  externalId: string,
): { instanceId: string; element: string | null } | undefined {
  const [, instanceId, element = null] = stepId.exec(externalId) ?? [];
  return instanceId === undefined ? undefined : { instanceId, element };
}
