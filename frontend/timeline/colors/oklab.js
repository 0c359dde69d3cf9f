// Colours as people perceive them: OKLab (Björn Ottosson, 2020) and the contrast of WCAG 2.

/** @typedef {[red: number, green: number, blue: number]} Rgb 0 to 255 */
/** @typedef {[lightness: number, a: number, b: number]} Lab lightness 0 to 1; a and b about -0.4 to 0.4 */

/** The light of a channel, 0 to 1, by its value. */
const LINEAR = Float64Array.from({ length: 256 }, (_, channel) => {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
});

/** @param {number} light 0 to 1 @returns {number} 0 to 255, not rounded */
function encoded(light) {
  return 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055);
}

/** @param {Rgb} rgb @returns {Lab} */
export function toLab(rgb) {
  const [red, green, blue] = [LINEAR[rgb[0]], LINEAR[rgb[1]], LINEAR[rgb[2]]];
  const long = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const medium = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const short = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short,
    1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short,
    0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short,
  ];
}

/** @param {Lab} lab @returns {Rgb|null} null for a colour that screens don't have */
export function toRgb([lightness, a, b]) {
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const red = 4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short;
  const green = -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short;
  const blue = -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short;
  if (red < 0 || red > 1 || green < 0 || green > 1 || blue < 0 || blue > 1) return null;
  return [Math.round(encoded(red)), Math.round(encoded(green)), Math.round(encoded(blue))];
}

/** @param {Lab} one @param {Lab} other @returns {number} how different they look: about 0.02 is just visible, black and white are 1 apart */
export function distance(one, other) {
  const [lightness, a, b] = [one[0] - other[0], one[1] - other[1], one[2] - other[2]];
  return Math.sqrt(lightness * lightness + a * a + b * b); // Math.hypot takes ten times as long
}

/** @param {Rgb} one @param {Rgb} other @returns {number} 1 to 21 */
export function contrast(one, other) {
  const [first, second] = [luminance(one) + 0.05, luminance(other) + 0.05];
  return first > second ? first / second : second / first;
}

/** @param {Rgb} rgb */
function luminance([red, green, blue]) {
  return 0.2126 * LINEAR[red] + 0.7152 * LINEAR[green] + 0.0722 * LINEAR[blue];
}
