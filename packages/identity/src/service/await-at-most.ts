/** The response, if it comes in time; undefined when it fails or takes longer. A later answer or failure is ignored. */
export async function awaitAtMost<T>(ms: number, answer: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((done) => {
    timer = setTimeout(() => done(undefined), ms);
  });
  const inTime = await Promise.race([answer.catch(() => undefined), late]);
  clearTimeout(timer);
  return inTime;
}
