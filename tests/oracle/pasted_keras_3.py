"""More Keras programs as people paste them: masks of attention, tables that NumPy computes, layers of their own.
Name: (whose words, shapes of the inputs without their batch, text), as in pasted_keras_2.py."""
PROGRAMS = {
    "causal_mha": (3, {"q": (5, 8), "v": (7, 8), "m": (5, 7)}, r"""
import tensorflow as tf
from tensorflow.keras import layers
class CausalSelfAttention(layers.Layer):
  def __init__(self, **kwargs):
    super().__init__()
    self.mha = layers.MultiHeadAttention(**kwargs)
    self.layernorm = layers.LayerNormalization()
    self.add = layers.Add()
  def call(self, x):
    attn_output = self.mha(query=x, value=x, key=x, use_causal_mask = True)
    x = self.add([x, attn_output])
    x = self.layernorm(x)
    return x
q = layers.Input((5, 8), name='q')
v = layers.Input((7, 8), name='v')
m = layers.Input((5, 7), name='m')
a = CausalSelfAttention(num_heads=2, key_dim=4, dropout=0.1)(q)
mask = tf.keras.layers.Lambda(lambda t: t > 0)(m)
b = layers.MultiHeadAttention(2, 4)(a, v, attention_mask=mask)
c = layers.Attention()([q, q], use_causal_mask=True)
d = layers.MultiHeadAttention(2, 3)(q, q, q, attention_mask=tf.linalg.band_part(tf.ones((5, 5)), -1, 0))
model = tf.keras.Model([q, v, m], [a, b, c, d])
"""),
    "transformer": (3, {"ids": (7,)}, r"""
import keras
from keras import layers, ops
class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1):
        super().__init__()
        self.att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = keras.Sequential([layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)])
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = layers.Dropout(rate)
        self.dropout2 = layers.Dropout(rate)
    def call(self, inputs):
        attn_output = self.att(inputs, inputs)
        attn_output = self.dropout1(attn_output)
        out1 = self.layernorm1(inputs + attn_output)
        ffn_output = self.ffn(out1)
        ffn_output = self.dropout2(ffn_output)
        return self.layernorm2(out1 + ffn_output)
class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim):
        super().__init__()
        self.token_emb = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=embed_dim)
    def call(self, x):
        maxlen = ops.shape(x)[-1]
        positions = ops.arange(start=0, stop=maxlen, step=1)
        positions = self.pos_emb(positions)
        x = self.token_emb(x)
        return x + positions
vocab_size, maxlen, embed_dim = 20, 7, 8
inputs = layers.Input(shape=(maxlen,))
embedding_layer = TokenAndPositionEmbedding(maxlen, vocab_size, embed_dim)
x = embedding_layer(inputs)
transformer_block = TransformerBlock(embed_dim, 2, 6)
x = transformer_block(x)
x = layers.GlobalAveragePooling1D()(x)
x = layers.Dropout(0.1)(x)
x = layers.Dense(5, activation="relu")(x)
outputs = layers.Dense(2, activation="softmax")(x)
model = keras.Model(inputs=inputs, outputs=outputs)
"""),
    "positional": (3, {"ids": (7,)}, r"""
import numpy as np
import tensorflow as tf
def positional_encoding(length, depth):
    depth = depth/2
    positions = np.arange(length)[:, np.newaxis]     # (seq, 1)
    depths = np.arange(depth)[np.newaxis, :]/depth   # (1, depth)
    angle_rates = 1 / (10000**depths)         # (1, depth)
    angle_rads = positions * angle_rates      # (pos, depth)
    pos_encoding = np.concatenate([np.sin(angle_rads), np.cos(angle_rads)], axis=-1)
    return tf.cast(pos_encoding, dtype=tf.float32)
class PositionalEmbedding(tf.keras.layers.Layer):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.d_model = d_model
        self.embedding = tf.keras.layers.Embedding(vocab_size, d_model)
        self.pos_encoding = positional_encoding(length=32, depth=d_model)
    def call(self, x):
        length = tf.shape(x)[1]
        x = self.embedding(x)
        x *= tf.math.sqrt(tf.cast(self.d_model, tf.float32))
        x = x + self.pos_encoding[tf.newaxis, :length, :]
        return x
class BaseAttention(tf.keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__()
        self.mha = tf.keras.layers.MultiHeadAttention(**kwargs)
        self.layernorm = tf.keras.layers.LayerNormalization()
        self.add = tf.keras.layers.Add()
class CausalSelfAttention(BaseAttention):
    def call(self, x):
        attn_output = self.mha(query=x, value=x, key=x, use_causal_mask=True)
        x = self.add([x, attn_output])
        x = self.layernorm(x)
        return x
class FeedForward(tf.keras.layers.Layer):
    def __init__(self, d_model, dff, dropout_rate=0.1):
        super().__init__()
        self.seq = tf.keras.Sequential([tf.keras.layers.Dense(dff, activation='relu'), tf.keras.layers.Dense(d_model), tf.keras.layers.Dropout(dropout_rate)])
        self.add = tf.keras.layers.Add()
        self.layer_norm = tf.keras.layers.LayerNormalization()
    def call(self, x):
        x = self.add([x, self.seq(x)])
        x = self.layer_norm(x)
        return x
inp = tf.keras.Input((7,))
x = PositionalEmbedding(20, 8)(inp)
x = CausalSelfAttention(num_heads=2, key_dim=4, dropout=0.1)(x)
x = FeedForward(8, 12)(x)
model = tf.keras.Model(inp, tf.keras.layers.Dense(5)(x))
"""),
    "bound_in_a_loop": (2, {"x": (10, 6)}, r"""
from keras.layers import Input, Lambda, Dense, Concatenate, concatenate, Add
from keras.models import Model
inp = Input(shape=(10, 6))
outs = []
for i in range(3):
    s = Lambda(lambda x, i=i: x[:, :, 2*i:2*i+2], output_shape=(10, 2))(inp)
    outs.append(Dense(4)(s))
def slice_by(k):
    return Lambda(lambda t: t[:, k::2])
parts = [slice_by(k)(inp) for k in range(2)]
crop = lambda dim, start, end: Lambda(lambda x: x[:, start:end] if dim == 1 else x[:, :, start:end])
d = crop(2, 1, 4)(inp)
g = [Lambda(lambda x, i=i: x[:, i])(inp) for i in (0, 3)]
h = Lambda(lambda x, n: x[:, n], arguments={'n': 4})(inp)
model = Model(inp, [concatenate(outs), *parts, d, Add()(g), h])
"""),
    "gan2": (2, {"x": (10,)}, r"""
from keras.layers import Input, Dense, Reshape, Flatten, Dropout, BatchNormalization, Activation, ZeroPadding2D, LeakyReLU
from keras.layers import UpSampling2D, Conv2D
from keras.models import Sequential, Model
from keras.optimizers import Adam
import numpy as np
class DCGAN():
    def __init__(self):
        self.img_rows = 28
        self.img_cols = 28
        self.channels = 1
        self.img_shape = (self.img_rows, self.img_cols, self.channels)
        self.latent_dim = 10
        optimizer = Adam(0.0002, 0.5)
        self.discriminator = self.build_discriminator()
        self.discriminator.compile(loss='binary_crossentropy', optimizer=optimizer, metrics=['accuracy'])
        self.generator = self.build_generator()
        z = Input(shape=(self.latent_dim,))
        img = self.generator(z)
        self.discriminator.trainable = False
        valid = self.discriminator(img)
        self.combined = Model(z, valid)
        self.combined.compile(loss='binary_crossentropy', optimizer=optimizer)
    def build_generator(self):
        model = Sequential()
        model.add(Dense(8 * 7 * 7, activation="relu", input_dim=self.latent_dim))
        model.add(Reshape((7, 7, 8)))
        model.add(UpSampling2D())
        model.add(Conv2D(8, kernel_size=3, padding="same"))
        model.add(BatchNormalization(momentum=0.8))
        model.add(Activation("relu"))
        model.add(UpSampling2D())
        model.add(Conv2D(self.channels, kernel_size=3, padding="same"))
        model.add(Activation("tanh"))
        noise = Input(shape=(self.latent_dim,))
        img = model(noise)
        return Model(noise, img)
    def build_discriminator(self):
        model = Sequential()
        model.add(Conv2D(6, kernel_size=3, strides=2, input_shape=self.img_shape, padding="same"))
        model.add(LeakyReLU(alpha=0.2))
        model.add(Dropout(0.25))
        model.add(Conv2D(4, kernel_size=3, strides=2, padding="same"))
        model.add(ZeroPadding2D(padding=((0,1),(0,1))))
        model.add(BatchNormalization(momentum=0.8))
        model.add(LeakyReLU(alpha=0.2))
        model.add(Flatten())
        model.add(Dense(1, activation='sigmoid'))
        img = Input(shape=self.img_shape)
        validity = model(img)
        return Model(img, validity)
gan = DCGAN()
model = gan.combined
"""),
    "functional_resnext": (3, {"x": (14, 15, 8)}, r"""
import keras
from keras import layers, ops, Model, Input
def grouped_convolution(y, nb_channels, _strides, cardinality):
    if cardinality == 1:
        return layers.Conv2D(nb_channels, kernel_size=(3, 3), strides=_strides, padding='same')(y)
    assert not nb_channels % cardinality
    _d = nb_channels // cardinality
    groups = []
    for j in range(cardinality):
        group = layers.Lambda(lambda z, j=j: z[:, :, :, j * _d:j * _d + _d])(y)
        groups.append(layers.Conv2D(_d, kernel_size=(3, 3), strides=_strides, padding='same')(group))
    return layers.concatenate(groups)
def mish(x):
    return x * ops.tanh(ops.softplus(x))
i = Input((14, 15, 8))
y = grouped_convolution(i, 8, (2, 1), 4)
y = layers.Activation(mish)(y)
y = layers.Conv2D(6, 3, activation=mish, groups=2)(y)
y = layers.Dense(4, activation=lambda t: ops.relu(t) ** 2)(y)
model = Model(i, [y, ops.mean(y, axis=(1, 2)), keras.ops.max(y, axis=-1, keepdims=True)])
"""),
    "custom_build": (3, {"x": (12, 9, 4)}, r"""
import keras
import tensorflow as tf
@keras.saving.register_keras_serializable(package="My")
class ConvBlock(keras.layers.Layer):
    def __init__(self, filters, kernel_size=3, strides=1, use_bn=True, activation="relu", **kwargs):
        super().__init__(**kwargs)
        self.filters = filters
        self.kernel_size = kernel_size
        self.strides = strides
        self.use_bn = use_bn
        self.activation = keras.activations.get(activation)
    def build(self, input_shape):
        self.conv = keras.layers.Conv2D(self.filters, self.kernel_size, strides=self.strides, padding="same", use_bias=not self.use_bn)
        self.conv.build(input_shape)
        if self.use_bn:
            self.bn = keras.layers.BatchNormalization()
            self.bn.build(self.conv.compute_output_shape(input_shape))
        self.scale = self.add_weight(shape=(self.filters,), initializer="ones", trainable=True, name="scale")
        super().build(input_shape)
    def call(self, inputs, training=None):
        x = self.conv(inputs)
        if self.use_bn:
            x = self.bn(x, training=training)
        x = x * self.scale
        return self.activation(x)
    def compute_output_shape(self, input_shape):
        return self.conv.compute_output_shape(input_shape)
    def get_config(self):
        config = super().get_config()
        config.update({"filters": self.filters, "kernel_size": self.kernel_size, "strides": self.strides})
        return config
    @classmethod
    def from_config(cls, config):
        return cls(**config)
class Net(keras.Model):
    def __init__(self, widths=(6, 8), num_classes=3, **kw):
        super().__init__(**kw)
        self.blocks = [ConvBlock(w, strides=2 if i else 1, name=f"block_{i}") for i, w in enumerate(widths)]
        self.pool = keras.layers.GlobalAveragePooling2D()
        self.drop = keras.layers.Dropout(0.3)
        self.fc = keras.layers.Dense(num_classes, activation="softmax")
    def call(self, x, training=False):
        for b in self.blocks:
            x = b(x, training=training)
        x = self.pool(x)
        if training:
            x = self.drop(x)
        return self.fc(x)
    def model(self):
        x = keras.Input(shape=(12, 9, 4))
        return keras.Model(inputs=[x], outputs=self.call(x))
model = Net()
"""),
    "cust_lstm_attn": (2, {"x": (6, 5)}, r"""
from keras import backend as K
from keras.layers import Layer, Input, LSTM, Dense, Bidirectional, Permute, Multiply, Flatten, Activation, RepeatVector, Lambda, Reshape, TimeDistributed
from keras import initializers, regularizers, constraints
from keras.models import Model
class AttentionWithContext(Layer):
    def __init__(self, W_regularizer=None, u_regularizer=None, b_regularizer=None, W_constraint=None, bias=True, **kwargs):
        self.supports_masking = True
        self.init = initializers.get('glorot_uniform')
        self.W_regularizer = regularizers.get(W_regularizer)
        self.b_regularizer = regularizers.get(b_regularizer)
        self.W_constraint = constraints.get(W_constraint)
        self.bias = bias
        super(AttentionWithContext, self).__init__(**kwargs)
    def build(self, input_shape):
        assert len(input_shape) == 3
        self.W = self.add_weight(shape=(input_shape[-1], input_shape[-1],), initializer=self.init, name='{}_W'.format(self.name), regularizer=self.W_regularizer, constraint=self.W_constraint)
        if self.bias:
            self.b = self.add_weight(shape=(input_shape[-1],), initializer='zero', name='{}_b'.format(self.name), regularizer=self.b_regularizer)
        self.u = self.add_weight(shape=(input_shape[-1],), initializer=self.init, name='{}_u'.format(self.name))
        super(AttentionWithContext, self).build(input_shape)
    def compute_mask(self, input, input_mask=None):
        return None
    def call(self, x, mask=None):
        uit = K.dot(x, self.W)
        if self.bias:
            uit += self.b
        uit = K.tanh(uit)
        ait = K.squeeze(K.dot(uit, K.expand_dims(self.u)), axis=-1)
        a = K.exp(ait)
        if mask is not None:
            a *= K.cast(mask, K.floatx())
        a /= K.cast(K.sum(a, axis=1, keepdims=True) + K.epsilon(), K.floatx())
        a = K.expand_dims(a)
        weighted_input = x * a
        return K.sum(weighted_input, axis=1)
    def compute_output_shape(self, input_shape):
        return input_shape[0], input_shape[-1]
inp = Input((6, 5))
h = Bidirectional(LSTM(4, return_sequences=True))(inp)
y = AttentionWithContext()(h)
att = Dense(1, activation='tanh')(h)
att = Flatten()(att)
att = Activation('softmax')(att)
att = RepeatVector(8)(att)
att = Permute([2, 1])(att)
z = Multiply()([h, att])
z = Lambda(lambda xin: K.sum(xin, axis=-2), output_shape=(8,))(z)
model = Model(inp, [y, Dense(3, activation='softmax')(z)])
"""),
    "merge_layer_k1": (1, {"a": (8,), "b": (8,)}, r"""
from keras.models import Model
from keras.layers import Dense, Merge, Input, merge
a = Input(shape=(8,), name='a')
b = Input(shape=(8,), name='b')
x = Dense(5)(a)
y = Dense(5)(b)
z = Merge(mode='mul')([x, y])
w = Merge(mode=lambda t: t[0] - t[1], output_shape=(5,))([z, y])
v = Merge(mode='concat', concat_axis=-1, name='joined')([w, z, x])
m = Merge(mode='ave')([x, y, w])
model = Model(input=[a, b], output=[Dense(2)(v), m])
"""),
    "tf_nn_layer": (3, {"x": (18, 15, 3)}, r"""
import tensorflow as tf
import keras
def weight_variable(self, name, shape):
    return self.add_weight(name=name, shape=shape, initializer=keras.initializers.TruncatedNormal(stddev=0.1))
def conv2d(x, W, stride=1):
    return tf.nn.conv2d(x, W, strides=[1, stride, stride, 1], padding='SAME')
def max_pool_2x2(x):
    return tf.nn.max_pool2d(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='SAME')
class Old(keras.layers.Layer):
    def build(self, s):
        self.W_conv1 = weight_variable(self, 'w1', [5, 3, 3, 6])
        self.b_conv1 = weight_variable(self, 'b1', [6])
        self.W_dw = weight_variable(self, 'wd', [3, 2, 6, 2])
        self.W_up = weight_variable(self, 'wu', [3, 3, 4, 12])
        self.W_fc1 = weight_variable(self, 'wf', [18 * 16 * 4, 5])
    def call(self, x):
        h = tf.nn.relu(conv2d(x, self.W_conv1) + self.b_conv1)
        h = max_pool_2x2(h)
        h = tf.nn.depthwise_conv2d(h, self.W_dw, strides=[1, 1, 1, 1], padding='SAME')
        h = tf.nn.elu(h)
        u = tf.nn.conv2d_transpose(h, self.W_up, output_shape=[tf.shape(x)[0], 18, 16, 4], strides=[1, 2, 2, 1], padding='SAME')
        u = tf.nn.avg_pool2d(u, 3, 1, 'SAME')
        f = tf.reshape(u, [-1, 18 * 16 * 4])
        f = tf.matmul(f, self.W_fc1)
        return tf.nn.softmax(f), tf.nn.leaky_relu(f, 0.1)
inp = keras.Input((18, 15, 3))
model = keras.Model(inp, Old()(inp))
"""),
    "center_crop": (3, {"x": (21, 20, 3)}, r"""
import keras
from keras import layers
model = keras.Sequential([
    keras.Input((21, 20, 3)),
    layers.RandomFlip("horizontal"),
    layers.CenterCrop(16, 17),
    layers.Rescaling(1./255, offset=-0.5),
    layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 3.0]),
    layers.Conv2D(4, 3, activation=lambda t: keras.ops.relu(t) ** 2),
    layers.Dense(2)])
"""),
}
