import { type RefObject, useEffect, useState } from 'react';

/** How long a line must stay on the screen before its names are looked up: in a busy journal, most don't. */
const restMs = 300;

/** Whether an element has been on the screen for a moment. Once it has, it stays so. */
export function useInSight(element: RefObject<Element | null>): boolean {
  const [isInSight, setInSight] = useState(false);
  useEffect(() => {
    if (isInSight || element.current === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new IntersectionObserver((entries) => {
      clearTimeout(timer);
      timer = entries.at(-1)?.isIntersecting ? setTimeout(() => setInSight(true), restMs) : undefined;
    });
    observer.observe(element.current);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [element, isInSight]);
  return isInSight;
}
