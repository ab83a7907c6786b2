"""Keras programs as people paste them. Name: (whose words they are: Keras 1, 2 or 3; shapes of the inputs without their batch;
text). `model` is the model; inputs named ids... are whole numbers."""

PROGRAMS = {
    "unet_transpose_crop": (3, {"x": (45, 38, 2)}, r"""
import tensorflow as tf
from tensorflow import keras
from keras import layers as L

def down(x, f):
    c = L.Conv2D(f, 3, activation="relu", kernel_initializer="he_normal")(x)
    return c, L.MaxPooling2D(2, padding='same')(c)

inp = keras.Input((45, 38, 2), name='x')
skips = []
x = inp
for f in (4, 6):
    s, x = down(x, f)
    skips.append(s)
x = L.Conv2D(8, 3, padding='same')(x)
for f, s in zip((6, 4), skips[::-1]):
    x = L.Conv2DTranspose(f, 3, strides=2, padding='valid')(x)
    dh, dw = x.shape[1] - s.shape[1], x.shape[2] - s.shape[2]
    if dh > 0 or dw > 0:
        x = L.Cropping2D(((max(dh, 0) // 2, max(dh, 0) - max(dh, 0) // 2), (max(dw, 0) // 2, max(dw, 0) - max(dw, 0) // 2)))(x)
    if dh < 0 or dw < 0:
        x = L.ZeroPadding2D(((0, max(-dh, 0)), (0, max(-dw, 0))))(x)
    x = L.Concatenate()([x, s])
    x = L.Conv2D(f, (3, 2), padding='same', activation='relu')(x)
model = keras.Model(inp, L.Conv2DTranspose(3, 4, strides=3, padding='same', output_padding=1)(x))
"""),
    "merge_seq_k1": (2, {"input_a": (7,), "input_b": (5,)}, r"""
from keras.models import Model
from keras.layers import Input, Dense, Add, Multiply, Average, Maximum, Subtract, Dot, add, multiply, average, maximum, subtract, dot, concatenate, Activation
a = Input(shape=(7,), name='input_a')
b = Input(shape=(5,), name='input_b')
x, y = Dense(4)(a), Dense(4, activation='tanh')(b)
s = add([x, y]); m = multiply([x, y]); v = average([x, y, s]); t = maximum([x, y]); u = subtract([x, m])
d = dot([x, y], axes=-1, normalize=True)
out = concatenate([s, m, v, t, u, d])
model = Model(inputs=[a, b], outputs=[Activation('relu')(out), d])
"""),
    "transfer_layers": (3, {"image": (32, 36, 3)}, r"""
import keras
from keras.models import Model, Sequential
from keras.layers import *
def vgg():
    i = Input((32, 36, 3), name='image')
    x = Conv2D(4, 3, padding='same', activation='relu', name='block1_conv1')(i)
    x = MaxPooling2D(2, name='block1_pool')(x)
    x = Conv2D(6, 3, padding='same', activation='relu', name='block2_conv1')(x)
    x = MaxPooling2D(2, name='block2_pool')(x)
    x = Flatten(name='flatten')(x)
    x = Dense(9, name='fc')(x)
    return Model(i, x, name='vgg')
base_model = vgg()
for layer in base_model.layers:
    layer.trainable = False
for layer in base_model.layers[-4:]:
    layer.trainable = True
print([(l.name, l.output.shape) for l in base_model.layers])
feat = base_model.get_layer('block1_pool').output
x = base_model.layers[-3].output
x = GlobalAveragePooling2D()(x)
x = Dense(8, activation='relu')(x)
predictions = Dense(3, activation='softmax')(x)
y = GlobalMaxPooling2D()(feat)
model = Model(inputs=base_model.input, outputs=[predictions, y])
"""),
    "conv3d": (2, {"x": (8, 10, 12, 1)}, r"""
from keras.models import Sequential
from keras.layers import Conv3D, MaxPooling3D, ZeroPadding3D, Flatten, Dense, Dropout, AveragePooling3D, GlobalAveragePooling3D, UpSampling3D, Cropping3D, Conv3DTranspose
def get_model(summary=False, backend='tf'):
    model = Sequential()
    if backend == 'tf':
        input_shape = (8, 10, 12, 1)  # l, h, w, c
    else:
        input_shape = (1, 8, 10, 12)
    model.add(Conv3D(4, (3, 3, 3), activation='relu', padding='same', name='conv1', input_shape=input_shape))
    model.add(MaxPooling3D(pool_size=(1, 2, 2), strides=(1, 2, 2), padding='valid', name='pool1'))
    model.add(Conv3D(6, (3, 1, 3), activation='relu', padding='same', strides=(2, 1, 1), name='conv2'))
    model.add(ZeroPadding3D(padding=((0, 0), (0, 1), (0, 1))))
    model.add(MaxPooling3D(pool_size=(2, 2, 2), strides=(2, 2, 2), padding='same'))
    model.add(Conv3DTranspose(3, 3, strides=(1, 2, 2), padding='same'))
    model.add(UpSampling3D((2, 1, 1)))
    model.add(Cropping3D(((1, 0), (0, 2), (1, 1))))
    model.add(Flatten())
    model.add(Dense(7, activation='relu', name='fc6'))
    if summary:
        print(model.summary())
    return model
model = get_model()
"""),
    "lambda_tf": (2, {"x": (12, 14, 6)}, r"""
import tensorflow as tf
from tensorflow.keras.layers import Input, Lambda, Conv2D, Concatenate, Add
from tensorflow.keras.models import Model
def space_to_depth_x2(x):
    return tf.nn.space_to_depth(x, block_size=2)
def group(x):
    return tf.split(x, 2, axis=-1)
i = Input((12, 14, 6), name='x')
x = Lambda(space_to_depth_x2, name='space_to_depth')(i)
a, b = Lambda(group)(x)
a = Conv2D(8, 3, padding='same', use_bias=False)(a)
y = Lambda(lambda t: tf.nn.depth_to_space(t, 2))(a)
z = Lambda(lambda t: tf.image.resize(t, (12, 14), method='nearest'))(b)
w = Lambda(lambda t: tf.pad(t, [[0, 0], [1, 1], [1, 1], [0, 0]], 'REFLECT'))(i)
w = Conv2D(3, 3)(w)
v = Lambda(lambda t: tf.reduce_mean(t, axis=[1, 2], keepdims=True))(i)
u = Lambda(lambda t: tf.tile(t, [1, 12, 14, 1]))(v)
k = Lambda(lambda t: tf.nn.l2_normalize(t, axis=-1))(u)
model = Model(i, Concatenate()([y, z, w, k]))
"""),
    "lambda_k": (2, {"x": (6, 10)}, r"""
from keras.layers import *
from keras.models import Model
from keras import backend as K
i = Input((6, 10), name='x')
a = Lambda(lambda x: K.reshape(x, (-1, 6, 5, 2)))(i)
b = Lambda(lambda x: K.permute_dimensions(x, (0, 2, 1, 3)))(a)
c = Lambda(lambda x: K.sqrt(K.sum(K.square(x), axis=-1)))(b)
d = Lambda(lambda x: K.l2_normalize(x, axis=1))(c)
e = Lambda(lambda x: K.concatenate([x[0], x[1]], axis=-1))([c, d])
f = Lambda(lambda x: K.batch_dot(x, K.permute_dimensions(x, (0, 2, 1))))(e)
g = Lambda(lambda x: K.stack([x, K.relu(x, alpha=0.1, max_value=1.0)], axis=1))(f)
h = Lambda(lambda x: K.clip(x, -0.5, 0.5) + K.epsilon())(g)
j = Lambda(lambda x: K.repeat_elements(x, 2, axis=-1))(h)
k = Lambda(lambda x: K.pow(K.maximum(x, 0.1), 2) / K.cast(K.shape(x)[1], 'float32'))(j)
l = Lambda(lambda x: K.mean(x, axis=[1]), output_shape=lambda s: (s[0], s[2], s[3]))(k)
m = Lambda(lambda x: K.var(x, axis=-1) + K.std(x, axis=-1) + K.log(K.exp(K.min(x, axis=-1))))(l)
n = Lambda(lambda x: K.softmax(K.hard_sigmoid(x)))(m)
model = Model(i, [n, Lambda(lambda x: K.flatten(K.gather(x, 0)) if False else K.batch_flatten(x))(j)])
"""),
    "merge_modes_k1": (1, {"a": (6, 8), "b": (6, 8)}, r"""
from keras.models import Model
from keras.layers import Input, merge, Dense, Flatten
a = Input(shape=(6, 8), name='a')
b = Input(shape=(6, 8), name='b')
d = Dense(4)
x, y = d(a), d(b)
s = merge([x, y], mode='sum', name='sum')
m = merge([x, y], mode='mul')
v = merge([x, y], mode='ave')
t = merge([x, y], mode='max')
z = merge([x, y], mode='dot', dot_axes=2)
q = merge([x, y], mode=lambda t: t[0] - t[1], output_shape=(6, 4))
r = merge([s, m, v, t, z, q], mode='concat')
model = Model(input=[a, b], output=r)
"""),
    "conv1d_text_k1": (1, {"x": (30, 5)}, r"""
from keras.models import Sequential
from keras.layers import Convolution1D, Dense, Flatten, Dropout, Activation, GlobalMaxPooling1D
model = Sequential()
model.add(Convolution1D(nb_filter=6, filter_length=3, border_mode='valid', activation='relu', subsample_length=1, input_shape=(30, 5)))
model.add(Convolution1D(4, 5, border_mode='same', activation='tanh', subsample_length=2))
model.add(GlobalMaxPooling1D())
model.add(Dense(output_dim=3, init='uniform', bias=False))
model.add(Activation('sigmoid'))
"""),
    "convlstm_seq": (3, {"frames": (4, 9, 7, 2)}, r"""
import keras
from keras import layers
inp = layers.Input(shape=(4, 9, 7, 2), name='frames')
x = layers.ConvLSTM2D(filters=3, kernel_size=(3, 5), padding="same", return_sequences=True, activation="relu")(inp)
x = layers.BatchNormalization()(x)
x = layers.ConvLSTM2D(filters=4, kernel_size=(1, 1), padding="valid", return_sequences=False)(x)
x = layers.Conv2D(filters=1, kernel_size=(3, 3), activation="sigmoid", padding="same")(x)
model = keras.models.Model(inp, x)
"""),
    "attention_layers": (3, {"q": (5, 8), "v": (7, 8)}, r"""
import tensorflow as tf
from tensorflow.keras.layers import *
q = Input((5, 8), name='q')
v = Input((7, 8), name='v')
a = Attention()([q, v])
b = AdditiveAttention()([q, v])
c, s = MultiHeadAttention(num_heads=2, key_dim=3, value_dim=4)(q, v, return_attention_scores=True)
model = tf.keras.Model([q, v], [a, b, c, s])
"""),
    "th_global": (3, {"x": (3, 12, 14)}, r"""
from keras import backend as K
K.set_image_data_format('channels_first')
from keras.layers import *
from keras.models import Sequential
body = [Input((3, 12, 14)), ZeroPadding2D((2, 1)), BatchNormalization(axis=1), UpSampling2D((1, 2)), Cropping2D(((0, 3), (1, 0)))]
model = Sequential([*body, GlobalAveragePooling2D()] if K.image_data_format() == 'channels_last' else [*body, Flatten(), Dense(3)])
K.set_image_data_format('channels_last')
"""),
    "seq_name_scope": (3, {"x": (10, 12, 3)}, r"""
import tensorflow as tf
from tensorflow import keras
strategy = None
with tf.device('/cpu:0'):
    model = keras.models.Sequential([
        keras.Input((10, 12, 3), name='x'),
        keras.layers.Conv2D(filters=4, kernel_size=[3, 2], strides=[2, 1], padding='SAME', activation=tf.nn.relu, data_format=None),
        keras.layers.MaxPool2D((2, 2), 1, 'valid'),
        keras.layers.Conv2D(5, 3, activation=keras.activations.swish, kernel_regularizer=keras.regularizers.l2(0.01), kernel_initializer=tf.keras.initializers.HeNormal()),
        keras.layers.GlobalMaxPooling2D(),
        keras.layers.Dense(3, activation=lambda x: tf.nn.leaky_relu(x, alpha=0.1)) if False else keras.layers.Dense(3, activation='tanh'),
    ], name="my_net")
model.compile(optimizer=keras.optimizers.Adam(learning_rate=1e-3), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=['accuracy'])
callbacks = [keras.callbacks.EarlyStopping(patience=3), keras.callbacks.ModelCheckpoint('best.keras')]
if False:
    history = model.fit(x_train, y_train, epochs=10, callbacks=callbacks, validation_split=0.1)
"""),
    "self_attn_gate": (3, {"x": (16, 20, 4), "g": (8, 10, 6)}, r"""
import tensorflow as tf
from tensorflow.keras import layers as L
def attention_gate(x, g, inter):
    theta_x = L.Conv2D(inter, (2, 2), strides=(2, 2), padding='same')(x)
    phi_g = L.Conv2D(inter, (1, 1), padding='same')(g)
    act = L.Activation('relu')(L.add([theta_x, phi_g]))
    psi = L.Conv2D(1, (1, 1), padding='same')(act)
    sig = L.Activation('sigmoid')(psi)
    up = L.UpSampling2D(size=(x.shape[1] // sig.shape[1], x.shape[2] // sig.shape[2]))(sig)
    y = L.multiply([up, x]) if False else up * x
    return L.BatchNormalization()(L.Conv2D(x.shape[-1], (1, 1), padding='same')(y))
x = L.Input((16, 20, 4), name='x')
g = L.Input((8, 10, 6), name='g')
model = tf.keras.Model(inputs=[x, g], outputs=attention_gate(x, g, 3))
"""),
    "shapes_told": (3, {"noise": (6,)}, r"""
from tensorflow.keras import layers, Sequential
model = Sequential([layers.Input((6,), name='noise'), layers.Dense(3 * 4 * 5, use_bias=False), layers.ReLU(), layers.Reshape((3, 4, 5))])
assert model.output_shape == (None, 3, 4, 5) and model.input_shape == (None, 6)
for filters, stride in ((4, 1), (3, (2, 1)), (1, 2)):
    before = model.output_shape
    model.add(layers.Conv2DTranspose(filters, (3, 5), strides=stride, padding='same', use_bias=False))
    assert model.layers[-1].input_shape == before if hasattr(model.layers[-1], 'input_shape') else True
assert model.output_shape == (None, 12, 8, 1)
"""),
    "parts_reused": (3, {"x": (20, 24, 3)}, r"""
from tensorflow import keras
from tensorflow.keras import layers
body = keras.Sequential([
    keras.Input((20, 24, 3), name='x'), layers.Conv2D(4, 3, activation='relu', name='first'), layers.MaxPooling2D(name='half'),
    layers.Conv2D(6, (3, 2), name='second'), layers.Dense(9, name='head')], name='body')
body.pop()
body.get_layer('first').trainable = False
top = layers.Dense(2)(layers.GlobalAveragePooling2D()(body.get_layer('half').output))
model = keras.Model(inputs=body.inputs, outputs=[layer.output for layer in body.layers[::2]] + [top])
"""),
    "kernels_of_its_own": (3, {"x": (12, 10, 3)}, r"""
import tensorflow as tf
from keras import layers, ops
import keras
class Weighted(layers.Layer):
    def build(self, shape):
        self.kernel = self.add_weight(name='kernel', shape=(3, 2, shape[-1], 4), initializer='he_normal')
        self.bias = self.add_weight(name='bias', shape=(4,), initializer='zeros')
    def call(self, x):
        y = tf.nn.conv2d(x, self.kernel, strides=[1, 2, 1, 1], padding='SAME')
        y = tf.nn.bias_add(y, self.bias)
        mean, variance = tf.nn.moments(y, axes=[1, 2], keepdims=True)
        return ops.conv((y - mean) / tf.sqrt(variance + 1e-3), self.kernel[:, :, :2], padding='valid')
x = keras.Input((12, 10, 3), name='x')
model = keras.Model(x, Weighted()(x))
"""),
    "own_weights_in_h5": (2, {"x": (9, 8, 3)}, r"""
from keras.layers import Layer, Input, Conv2D
from keras.models import Model
import keras.backend as K
class Shifted(Layer):
    def __init__(self, by=2, **kwargs):
        self.by = by
        super(Shifted, self).__init__(**kwargs)
    def build(self, input_shape):
        self.level = self.add_weight(name='level', shape=(int(input_shape[-1]),), initializer='ones', trainable=False)
        self.gain = self.add_weight(name='gain', shape=(1, int(input_shape[-1])), initializer='ones')
        self.shift = self.add_weight(name='shift', shape=(int(input_shape[-1]),), initializer='zeros')
        super(Shifted, self).build(input_shape)
    def call(self, x):
        wide = K.std(x, axis=[1, 2], keepdims=True) + K.epsilon()
        return (x - self.level) / wide * self.gain ** self.by + self.shift
i = Input((9, 8, 3), name='x')
x = Shifted()(Conv2D(4, (2, 3))(i))
x = Shifted(1, name='again')(Conv2D(5, 1)(x))
model = Model(i, x)
"""),
    "cut_to_fit": (2, {"x": (33, 41, 2)}, r"""
from keras.models import Model
from keras.layers import *
def fit(a, b, whole):
    ha, wa = Model(whole, a).output_shape[1:3]
    hb, wb = Model(whole, b).output_shape[1:3]
    if ha > hb or wa > wb:
        a = Cropping2D(((0, max(ha - hb, 0)), (0, max(wa - wb, 0))))(a)
    if hb > ha or wb > wa:
        b = Cropping2D(((0, max(hb - ha, 0)), (0, max(wb - wa, 0))))(b)
    return a, b
i = Input((33, 41, 2), name='x')
down = Conv2D(4, 3, strides=2, padding='same', activation='relu')(i)
low = Conv2D(3, (3, 2), strides=(2, 3))(down)
up, down = fit(Conv2DTranspose(4, 4, strides=(2, 3), use_bias=False)(low), down, i)
up, i2 = fit(Conv2DTranspose(2, (5, 3), strides=2)(Add()([up, down])), i, i)
model = Model(i, Reshape((-1, 2))(subtract([up, i2])))
"""),
    "named_arguments": (3, {"x": (6, 8)}, r"""
import tensorflow as tf
from tensorflow.keras.layers import Input, Lambda, Dense
from tensorflow.keras.models import Model
i = Input((6, 8), name='x')
q, k, v = Dense(5)(i), Dense(5)(i), Dense(5)(i)
def attend(parts):
    q, k, v = parts
    scores = tf.matmul(q, k, transpose_b=True) / tf.sqrt(5.0) if False else tf.matmul(a=q, b=k, transpose_b=True)
    return tf.matmul(tf.nn.softmax(logits=scores, axis=-1, name='weights'), v)
y = Lambda(attend)([q, k, v])
a, b = Lambda(lambda t: tf.split(t, [2, 3], axis=-1))(y)
z = Lambda(lambda t: tf.transpose(tf.concat(values=[t[0], t[1], t[0]], axis=2), perm=[0, 2, 1]))([a, b])
w = Lambda(lambda t: tf.tile(t, multiples=[1, 1, 2]) + tf.reduce_mean(input_tensor=t, axis=1, keepdims=True)[..., :1])(z)
r = Lambda(lambda t: tf.image.resize(t[..., tf.newaxis], size=(10, 4), method='nearest'))(w) if False else w
model = Model(i, [w, Lambda(lambda t: tf.clip_by_value(t, clip_value_min=-0.1, clip_value_max=0.2))(z)])
"""),
}
